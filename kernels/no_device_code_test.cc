// A build without nvcc, on the fakes: copy engines and CPU copies measure and are verified; kernels
// that need the GPU's threads waive with the reason. The program always links the device code of
// such a build.
#include <algorithm>

#include "kernels/gpu/device_code.h"
#include "kernels/testing/gpu_contract.h"

namespace railgauge::gpu {
extern const DeviceCode kPatternCode;
extern const DeviceCode kFlagAnswerCode;
}  // namespace railgauge::gpu
namespace railgauge::cuda {
extern const gpu::DeviceCode kCopyCode;
extern const gpu::DeviceCode kChaseCode;
}  // namespace railgauge::cuda
namespace railgauge::nccl {
extern const gpu::DeviceCode kVerifyCode;
}  // namespace railgauge::nccl

namespace railgauge {
namespace {

constexpr const char* kReason = "this build has none, nvcc was not there; build with the CUDA tool";

TEST(DeviceCodeWithoutNvcc, IsEmpty) {
  for (const gpu::DeviceCode* code : {&gpu::kPatternCode, &cuda::kCopyCode, &cuda::kChaseCode,
                                      &gpu::kFlagAnswerCode, &nccl::kVerifyCode}) {
    EXPECT_TRUE(code->ptx.empty()) << code->name;
    EXPECT_TRUE(code->cubins.empty()) << code->name;
  }
}

class WithoutDeviceCode : public OnFakeGpus {
 protected:
  static bool needs_threads() {
    const auto engine = GetParam().parameters.find("engine");
    if (engine != GetParam().parameters.end()) return engine->second == "sm";
    if (GetParam().kernel == "nccl.init") return false;       // the CPU compares the numbers
    if (GetParam().kernel.starts_with("nccl.")) return true;  // to verify the data
    constexpr std::array kOfThreads{"bar.ping_pong", "cuda.host_latency", "cuda.peer_latency"};
    return std::ranges::find(kOfThreads, GetParam().kernel) != kOfThreads.end();
  }
};

TEST_P(WithoutDeviceCode, MeasuresOrWaivesWithTheReason) {
  fake::cuda_control().no_twins = 1;
  if (needs_threads()) {
    expect_waived(run(), kReason);
  } else {
    expect_measured();
  }
}

// A kernel that only a machine with nvcc could test would not be trusted.
TEST_P(WithoutDeviceCode, RunsAllOfItOnTheFakesTwins) { expect_measured(); }

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const KernelRow& row : catalog()) {
    const KernelInfo info = row.info();
    if (info.endpoint_kind() == "nic" || info.name().starts_with("mpi.")) continue;
    if (info.min_ranks() > 1) continue;  // cuda.rank_copy_bw: rank_copies_test.cc
    const auto has = [&info](const char* name) {
      return !fake::declared_among(info, {{name, ""}}).empty();
    };
    all.push_back({.kernel = info.name(), .backend = has("backend") ? "gdrdrv" : ""});
    if (!has("engine")) continue;
    all.back().name = "ce";
    all.back().parameters = {{"engine", "ce"}};
    all.push_back({.kernel = info.name(), .name = "sm", .parameters = {{"engine", "sm"}}});
  }
  return all;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WithoutDeviceCode);
INSTANTIATE_TEST_SUITE_P(Catalog, WithoutDeviceCode, ::testing::ValuesIn(ways()), test_name);

}  // namespace
}  // namespace railgauge
