#include "kernels/gpu/placement.h"

#include <sched.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "kernels/fakes/gpu_fixture.h"
#include "kernels/gpu/session.h"

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
  // Both nodes have the CPU that this test may use: what is bound here is what is told.
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
  std::string placed(const std::string& side, bool all = false) {
    const auto params =
        Params::parse(InfoBuilder("test.placement", 1, "")
                          .apply([](InfoBuilder& builder) { add_session_parameters(builder); })
                          .build(),
                      {{"numa", side}});
    fake::RankResult told;
    fake::Recorder recorder(told);
    Context context{*params, recorder, fake::test_clock(), "gpu0", 0, false};
    const auto gpus = Gpu::open_all();
    const auto binding = place(context, std::span(*gpus).first(all ? 2 : 1), root_.string());
    if (binding) return told.facts["numa"];
    EXPECT_EQ(binding.error().code, Code::kFailedPrecondition);
    return binding.error().message;
  }

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

TEST_F(GpuPlacement, GpusOfSeveralNodesHaveNoCommonNear) {
  machine(2, 0, 1);
  EXPECT_THAT(placed("near", true), HasSubstr("not all on one node"));
  machine(2, 1, 1);
  EXPECT_THAT(placed("near", true), HasSubstr("node 1, near"));
}

}  // namespace
}  // namespace railgauge::gpu
