// Kernels on AMD's GPUs: HIP's functions in the driver's table, on the fake of HIP's runtime. A
// process loads one library, so this is a separate program.
#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/hip.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/solo.h"
#include "kernels/fakes/verbs/fake_verbs.h"

namespace railgauge {
namespace {

using fake::RankResult;
using ::testing::HasSubstr;
using Given = std::map<std::string, std::string>;

class OnHip : public gpu::OnFakes {
 protected:
  static void SetUpTestSuite() {
    OnFakes::SetUpTestSuite();
    setenv(kHipLibraryVariable, RAILGAUGE_FAKE_LIBHIP, 1);
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    unsetenv(kCudaLibraryVariable);
  }
  static RankResult run(const char* kernel, Given given, const char* endpoint = "gpu0") {
    const KernelRow& row = *find_kernel(kernel);
    given.insert({{"iterations", "3"}, {"sizes", "64KiB"}});
    return fake::run_solo(
        row, {.parameters = fake::declared_among(row.info(), given), .endpoint = endpoint});
  }
  static void expect_measured(const RankResult& result) {
    ASSERT_TRUE(result.status) << result.status.error().message;
    ASSERT_FALSE(result.points.empty());
    for (const Point& point : result.points) {
      EXPECT_TRUE(point.verified()) << point.metric();
      EXPECT_TRUE(point.synthetic());
    }
  }
};

TEST_F(OnHip, TheTableIsHips) {
  const auto table = load_cuda();
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_TRUE((*table)->is_hip);
  EXPECT_EQ((*table)->driver_version, 6'020) << "release 6.2";
  int value = 0;
  EXPECT_EQ((*table)->device_get_attribute(&value, cu::kMultiprocessorCount, 0), cu::kSuccess);
  EXPECT_EQ(value, 4);
  EXPECT_EQ((*table)->device_get_attribute(&value, cu::kFabricHandlesSupported, 0),
            cu::kInvalidValue)
      << "as a driver that is older than the attribute";
}

TEST(HipNumbers, AreThoseOfItsHeader) {
  EXPECT_EQ(hip_attribute(cu::kMultiprocessorCount), 63);
  EXPECT_EQ(hip_attribute(cu::kFabricHandlesSupported), -1);
  EXPECT_EQ(release_of_hip(50'221'153), 5'020);
}

TEST_F(OnHip, CopiesAreMeasuredAndCompared) {
  for (const char* direction : {"h2d", "d2h"})
    expect_measured(run("cuda.host_copy_bw", {{"direction", direction}}));
  expect_measured(run("cuda.local_copy_bw", {}));
  expect_measured(run("cuda.peer_copy_bw", {}, ""));
  const RankResult result = run("cuda.host_copy_bw", {});
  EXPECT_EQ(result.facts.at("hip_release"), "6.2");
  EXPECT_EQ(result.facts.at("path"), "copy engine");
}

TEST_F(OnHip, AWrongByteIsFound) {
  fake::cuda_control().flip_byte = 1;
  const RankResult result = run("cuda.host_copy_bw", {});
  ASSERT_FALSE(result.status);
  EXPECT_EQ(result.status.error().code, Code::kDataLoss);
}

TEST_F(OnHip, TheCpusMappingIsThatOfADmaBuf) {
  fake::cuda_control().dmabuf_mmap = 1;
  const RankResult result = run("bar.write_bw", {{"backend", "coherent"}});
  ASSERT_FALSE(result.status);
  EXPECT_EQ(outcome_of(result.status.error().code), kWaived) << "no shared page tables here";
  fake::cuda_control().coherent = 1;
  expect_measured(run("bar.write_bw", {{"backend", "coherent"}}));
}

TEST_F(OnHip, VerbsUseItsMemory) {
  const auto results = fake::run_pair(
      *find_kernel("verbs.write_bw"),
      {.parameters = {{"memory", "cuda"}, {"sizes", "4KiB"}, {"iterations", "100"}}});
  for (const RankResult& result : results)
    ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_TRUE(results[0].points.at(0).verified());
}

}  // namespace
}  // namespace railgauge
