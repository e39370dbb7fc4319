#include "kernels/gpu/session/placement.h"

#include <sched.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "kernels/fakes/gpu_fixture.h"
#include "kernels/gpu/session/session.h"

namespace railgauge::gpu {
namespace {

using ::testing::HasSubstr;

// A CPU that this test may use.
int some_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &set)) ++cpu;
  return cpu;
}

class GpuPlacement : public OnFakes {
 protected:
  void TearDown() override {
    std::filesystem::remove_all(root_);
    OnFakes::TearDown();
  }
  void write(const std::string& file, const std::string& text) const {
    const auto path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // Both nodes have the CPU that this test may use: the reported binding is the real one.
  void machine(int nodes, int node_of_gpu0, int node_of_gpu1) const {
    write("devices/system/node/online", nodes == 1 ? "0" : fmt::format("0-{}", nodes - 1));
    for (int node = 0; node < nodes; ++node) {
      const std::string folder = fmt::format("devices/system/node/node{}/", node);
      write(folder + "cpulist", std::to_string(some_cpu()));
      write(folder + "distance", nodes == 1 ? "10" : node == 0 ? "10 21" : "21 10");
    }
    write("bus/pci/devices/0000:e0:00.0/numa_node", std::to_string(node_of_gpu0));
    write("bus/pci/devices/0000:e1:00.0/numa_node", std::to_string(node_of_gpu1));
  }
  // The fact, or the error's words.
  static Params params_of(const std::string& side) {
    return *Params::parse(InfoBuilder("test.placement", 1, "")
                              .apply([](InfoBuilder& builder) { add_session_parameters(builder); })
                              .build(),
                          {{"numa", side}});
  }
  // The node that one GPU's host memory is bound to, -1 none, -2 an error, whose words are words_.
  int node_beside(const std::string& side, int gpu, std::uint64_t bytes = 1) {
    const Params params = params_of(side);
    fake::RankResult told;
    fake::Recorder recorder(told);
    const Context context{params, recorder, fake::test_clock(), "", 0, false};
    const auto opened = Gpu::open("gpu" + std::to_string(gpu));
    const auto place = place_beside(context, *opened, bytes, root_.string());
    if (place) return place->host.node;
    words_ = place.error().message;
    return -2;
  }
  std::string placed(const std::string& side, bool all = false, Apart apart = Apart::kUnbound) {
    const Params params = params_of(side);
    fake::RankResult told;
    fake::Recorder recorder(told);
    Context context{params, recorder, fake::test_clock(), "gpu0", 0, false};
    const auto gpus = Gpu::open_all();
    const auto binding = place(context, std::span(*gpus).first(all ? 2 : 1), root_.string(), apart);
    if (binding) return told.facts["numa"];
    EXPECT_EQ(binding.error().code, Code::kFailedPrecondition);
    return binding.error().message;
  }

  std::string words_;
  std::filesystem::path root_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("placement_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(GpuPlacement, NearIsTheGpusOwnNode) {
  machine(2, 1, 1);
  EXPECT_THAT(placed("near"), HasSubstr("node 1, near"));
}

TEST_F(GpuPlacement, FarIsTheOtherNode) {
  machine(2, 1, 1);
  EXPECT_THAT(placed("far"), HasSubstr("node 0, far"));
}

TEST_F(GpuPlacement, AnyBindsNothing) {
  machine(2, 1, 1);
  EXPECT_EQ(placed("any"), "any");
}

TEST_F(GpuPlacement, OnOneNodeNearIsEverywhere) {
  machine(1, -1, -1);
  EXPECT_EQ(placed("near"), "single node");
}

TEST_F(GpuPlacement, OnOneNodeThereIsNoFar) {
  machine(1, 0, 0);
  EXPECT_EQ(placed("far"), "gpu0: measure from the far NUMA node: this machine has one node");
}

TEST_F(GpuPlacement, WhereTheMachineDoesNotSayNearBindsNothingAndFarWaives) {
  machine(2, -1, -1);
  EXPECT_EQ(placed("near"), "not bound: 2 nodes, it does not say on which node gpu0 is");
  EXPECT_THAT(placed("far"), HasSubstr("it does not say on which node gpu0 is"));
}

TEST_F(GpuPlacement, FarFromGpusOfSeveralNodesIsForKernelsThatPlaceEachOnesMemory) {
  machine(2, 0, 1);
  EXPECT_THAT(placed("far", true), HasSubstr("its GPUs are not all on one node"));
  EXPECT_EQ(placed("far", true, Apart::kEach),
            "each GPU's host memory on its own far node; the thread is free");
  machine(2, 0, -1);
  EXPECT_THAT(placed("far", true, Apart::kEach), HasSubstr("measure from the far NUMA node"));
}

TEST_F(GpuPlacement, EachGpusHostMemoryGoesToItsOwnNodeOrTheOther) {
  machine(2, 0, 1);
  EXPECT_EQ(node_beside("near", 0), 0);
  EXPECT_EQ(node_beside("near", 1), 1);
  EXPECT_EQ(node_beside("far", 0), 1);
  EXPECT_EQ(node_beside("far", 1), 0);
  EXPECT_EQ(node_beside("any", 1), -1);
  machine(1, 0, 0);
  EXPECT_EQ(node_beside("near", 1), -1);
}

TEST_F(GpuPlacement, ANodeThatCannotGiveSoMuchIsNotBoundTo) {
  machine(2, 0, 1);
  write("devices/system/node/node1/meminfo", "Node 1 MemFree: 4194304 kB\n");
  EXPECT_EQ(node_beside("near", 1, 3ULL << 30U), 1);
  EXPECT_EQ(node_beside("near", 1, (3ULL << 30U) + 1), -2);
  EXPECT_EQ(words_,
            "gpu1: have host memory on NUMA node 1: 4.0 GiB are available there, 4 GiB may "
            "be needed; free some, or measure with numa=any");
}

TEST_F(GpuPlacement, GpusOfSeveralNodesHaveNoCommonNear) {
  machine(2, 0, 1);
  EXPECT_THAT(placed("near", true), HasSubstr("not all on one node"));
  machine(2, 1, 1);
  EXPECT_THAT(placed("near", true), HasSubstr("node 1, near"));
}

}  // namespace
}  // namespace railgauge::gpu
