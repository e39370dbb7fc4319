// The mapping of a dma-buf on nodes of several shapes, whose sysfs is a folder of the test, and the
// proof message. By a mapping that is not the adapter's the fake registers memory and loses data.
#include <fstream>

#include "kernels/dl/mlx5.h"
#include "kernels/verbs/testing/memory_fixture.h"

namespace railgauge {
namespace {

namespace fs = std::filesystem;

enum RightMapping : std::uint64_t { kAny, kDefault, kPcie, kDataDirect };

constexpr const char* kGpu = "pci0008:00/0008:00:00.0/0008:01:00.0/0008:02:01.0/0008:06:00.0";
constexpr const char* kBeside = "pci0008:00/0008:00:00.0/0008:01:00.0/0008:02:00.0/0008:03:00.0";
constexpr const char* kOnCpu = "pci0000:00/0000:00:00.0/0000:03:00.0";

class DmabufNode : public Memories {
 protected:
  void SetUp() override {
    Memories::SetUp();
    setenv(kMlx5LibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    cuda_control().pcie_mapping = 1;
    fs::create_directories(root_ / "class/infiniband");
    fs::create_directories(root_ / "bus/pci/devices");
  }
  void TearDown() override {
    fake::set_sysfs_folder("");
    fake::set_data_direct_folder("");
    unsetenv(kMlx5LibraryVariable);
    fs::remove_all(root_);
    Memories::TearDown();
  }
  // Both GPUs of the fake driver and both NICs are at these places.
  void make_node(const char* nic) {
    for (const char* gpu : {"0000:e0:00.0", "0000:e1:00.0"}) place("bus/pci/devices", gpu, kGpu);
    for (const char* device : {"fake0", "fake1"}) {
      fs::create_directories(root_ / "class/infiniband" / device);
      place(std::string("class/infiniband/") + device, "device", nic);
    }
    fake::set_sysfs_folder((root_ / "class/infiniband").string());
  }
  void place(const std::string& folder, const std::string& name, const char* path) {
    fs::create_directories(root_ / "devices" / path);
    fs::create_directory_symlink(root_ / "devices" / path, root_ / folder / name);
  }
  void add_data_direct(const char* path) {
    fs::create_directories(root_ / "devices" / path);
    fake::set_data_direct_folder(std::string("/devices/") + path);
  }
  void expect_mapping(const std::string& mapping, const std::string& reason) {
    const auto results = run("verbs.write_bw", {{"memory", "cuda"}});
    expect_passed(results, mapping);
    for (const RankResult& result : results) {
      EXPECT_EQ(result.facts.at("path"), "dma-buf");
      EXPECT_THAT(result.facts.at("dmabuf_mapping"),
                  AllOf(::testing::StartsWith(mapping + ": "), HasSubstr(reason)));
    }
  }

  const fs::path root_ = fs::temp_directory_path() / ("dmabuf_test." + std::to_string(getpid()));
};

TEST_F(DmabufNode, AGpuThatOnlyPcieReachesTakesTheDefaultMapping) {
  make_node(kBeside);
  verbs_control().right_mapping = kDefault;
  expect_mapping("default", "no path but PCIe");
}

TEST_F(DmabufNode, ACoherentGpuTakesThePcieMappingForANicBesideItOnly) {
  cuda_control().coherent = 1;
  make_node(kBeside);
  verbs_control().right_mapping = kPcie;
  expect_mapping("pcie", "the NIC shares a bridge");
}

TEST_F(DmabufNode, ANicBehindTheCpuTakesTheDefaultMappingOfACoherentGpu) {
  cuda_control().coherent = 1;
  make_node(kOnCpu);
  verbs_control().right_mapping = kDefault;
  expect_mapping("default", "through the CPU");
}

TEST_F(DmabufNode, ADataDirectFunctionBesideTheGpuIsTaken) {
  cuda_control().coherent = 1;
  make_node(kOnCpu);
  add_data_direct(kBeside);
  verbs_control().right_mapping = kDataDirect;
  expect_mapping("data-direct", "Data Direct function shares a bridge");
}

TEST_F(DmabufNode, WithoutDataDirectInTheKernelTheNicsOwnPathFollowsAndTheFactSaysWhy) {
  cuda_control().coherent = 1;
  make_node(kOnCpu);
  add_data_direct(kBeside);
  verbs_control().no_data_direct = EOPNOTSUPP;
  verbs_control().right_mapping = kDefault;
  expect_mapping("default", "through the CPU");
  EXPECT_THAT(
      run("verbs.write_bw", {{"memory", "cuda"}})[0].facts.at("path_refused"),
      AllOf(HasSubstr("dma-buf: mapping data-direct: mlx5dv_reg_dmabuf_mr (Data Direct) of "),
            HasSubstr("(errno 95)")));
}

// A kernel without the question is no failure; any other error is a fact, and dma-buf stays.
TEST_F(DmabufNode, AKernelThatCannotBeAskedForDataDirectKeepsDmaBuf) {
  make_node(kBeside);
  verbs_control().no_data_direct_query = EPROTONOSUPPORT;
  const auto older = run("verbs.write_bw", {{"memory", "cuda"}});
  expect_passed(older, "older kernel");
  EXPECT_EQ(older[0].facts.at("path"), "dma-buf");
  EXPECT_FALSE(older[0].facts.contains("path_refused"));
  verbs_control().no_data_direct_query = EIO;
  const auto broken = run("verbs.write_bw", {{"memory", "cuda"}});
  expect_passed(broken, "broken query");
  EXPECT_EQ(broken[0].facts.at("path"), "dma-buf");
  EXPECT_THAT(broken[0].facts.at("path_refused"),
              HasSubstr("Data Direct is not known: mlx5dv_get_data_direct_sysfs_path: "));
}

TEST(Mlx5Library, ALibraryWithoutItsCallsIsRefused) {
  EXPECT_EQ(bind_mlx5("libc.so.6").error().code, Code::kUnimplemented);
  EXPECT_EQ(bind_mlx5("libabsent.so.1").error().code, Code::kNotFound);
}

// Every kernel with GPU memory, both directions: nothing is measured by a wrong mapping.
TEST_F(DmabufNode, AWrongMappingLosesTheProofMessageAndNothingIsMeasured) {
  cuda_control().coherent = 1;
  make_node(kBeside);
  std::size_t kernels = 0;
  for (const std::string& kernel : verbs_kernels_with("dmabuf_mapping")) {
    if (!takes(kernel, "cuda")) continue;
    ++kernels;
    for (const auto& [mapping, right] : {std::pair{"default", kPcie}, std::pair{"pcie", kDefault},
                                         std::pair{"pcie", kDataDirect}}) {
      verbs_control().right_mapping = right;
      const auto results = run(kernel, {{"memory", "cuda"}, {"dmabuf_mapping", mapping}});
      for (const RankResult& result : results) {
        ASSERT_FALSE(result.status) << kernel;
        EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
        EXPECT_THAT(result.status.error().message, HasSubstr("verify the proof message"));
        EXPECT_TRUE(result.points.empty()) << kernel;
      }
      EXPECT_THAT(results[1].status.error().message,
                  HasSubstr(std::string("is registered by a dma-buf of mapping ") + mapping +
                            " (the parameter dmabuf_mapping)"));
      expect_nothing_left(kernel);
    }
  }
  EXPECT_GE(kernels, 10U);
}

TEST_F(DmabufNode, AParameterForcesTheMapping) {
  cuda_control().coherent = 1;
  make_node(kBeside);
  verbs_control().right_mapping = kDefault;
  expect_passed(run("verbs.write_bw", {{"memory", "cuda"}, {"dmabuf_mapping", "default"}}),
                "forced");
}

TEST_F(DmabufNode, ADriverWithoutThePcieMappingSaysSo) {
  cuda_control().pcie_mapping = 0;
  verbs_control().no_peermem = EOPNOTSUPP;
  for (const RankResult& result :
       run("verbs.write_bw", {{"memory", "cuda"}, {"dmabuf_mapping", "pcie"}})) {
    ASSERT_FALSE(result.status);
    EXPECT_THAT(result.status.error().message,
                HasSubstr(" by the PCIe mapping, which CUDA 12.8 has: CUDA_ERROR_NOT_SUPPORTED"));
  }
}

TEST_F(DmabufNode, SurvivesAFailureOfEachCallOnTheWayToDataDirect) {
  cuda_control().coherent = 1;
  make_node(kOnCpu);
  add_data_direct(kBeside);
  cuda_control().pcie_mapping = 1;
  setenv("RAILGAUGE_FAKE_CUDA", "coherent=1,pcie_mapping=1", 1);
  walk("verbs.write_bw",
       {{"memory", "cuda"},
        {"sizes", "64KiB"},
        {"iterations", "2"},
        {"signal_every", "1"},
        {"depth", "2"},
        {"stall_timeout", "100ms"}},
       {kOfVerbs});
  unsetenv("RAILGAUGE_FAKE_CUDA");
}

}  // namespace
}  // namespace railgauge
