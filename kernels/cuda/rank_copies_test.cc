// Copies between two processes' GPUs on the fake driver: both ranks in this process, each with
// mappings of its own.
#include <gmock/gmock.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/kernel.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/pair.h"
#include "kernels/testing/contract.h"

namespace railgauge {
extern const KernelRow kCudaRankCopyBw;
}  // namespace railgauge

namespace railgauge::cuda {
namespace {

using fake::cuda_control;
using fake::RankResult;
using ::testing::HasSubstr;

class RankCopiesTest : public gpu::OnFakes {
 protected:
  using Given = std::map<std::string, std::string>;
  static std::array<RankResult, 2> copy(Given given,
                                        std::array<std::string, 2> gpus = {"gpu0", "gpu1"}) {
    given.try_emplace("iterations", "3");
    given.try_emplace("sizes", "64KiB,3MiB");
    return fake::run_pair(kCudaRankCopyBw,
                          {.parameters = std::move(given), .endpoints = std::move(gpus)});
  }
};

TEST_F(RankCopiesTest, MeasureAndCompareEachWay) {
  cuda_control().fabric = 1;
  for (const char* handle : {"posix", "fabric"})
    for (const char* direction : {"read", "write"})
      for (const char* engine : {"ce", "sm"}) {
        SCOPED_TRACE(std::string(handle) + " " + direction + " " + engine);
        const auto results =
            copy({{"handle", handle}, {"direction", direction}, {"engine", engine}});
        for (const RankResult& result : results)
          ASSERT_TRUE(result.status) << result.status.error().message;
        ASSERT_EQ(results[0].points.size(), 2U);
        EXPECT_TRUE(results[1].points.empty());
        for (const Point& point : results[0].points) {
          EXPECT_TRUE(point.verified());
          EXPECT_TRUE(point.synthetic());
          EXPECT_GT(point.median(), 0);
        }
        EXPECT_EQ(results[0].facts.at("gpus"), "one of each rank");
      }
}

TEST_F(RankCopiesTest, ChooseTheirGpusAndSayWhereTheyShareOne) {
  const auto own = copy({}, {"", ""});
  ASSERT_TRUE(own[0].status) << own[0].status.error().message;
  EXPECT_EQ(own[0].facts.at("gpus"), "one of each rank");
  cuda_control().gpus = 1;
  fake::nvml_control().gpus = 1;
  const auto shared = copy({}, {"", ""});
  ASSERT_TRUE(shared[0].status) << shared[0].status.error().message;
  EXPECT_EQ(shared[0].facts.at("gpus"), "both ranks on one GPU");
}

// Rank 0 would be content with any memory that keeps what it writes.
TEST_F(RankCopiesTest, OfOtherMemoryThanTheLentAreFound) {
  for (const char* direction : {"read", "write"}) {
    cuda_control().import_other = 1;
    for (const RankResult& result : copy({{"direction", direction}})) {
      ASSERT_FALSE(result.status);
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
      EXPECT_TRUE(result.points.empty());
    }
  }
}

TEST_F(RankCopiesTest, WithAWrongByteFailBothRanks) {
  cuda_control().flip_byte = 1;
  for (const RankResult& result : copy({{"direction", "write"}})) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
  }
}

TEST_F(RankCopiesTest, WithoutAFabricAreWaivedWithWhatItNeeds) {
  for (const RankResult& result : copy({{"handle", "fabric"}})) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(outcome_of(result.status.error().code), kWaived) << result.status.error().message;
  }
  EXPECT_THAT(copy({{"handle", "fabric"}})[1].status.error().message, HasSubstr("IMEX"));
}

TEST_F(RankCopiesTest, SurviveAFailureOfEachCallWithoutALeak) {
  const Given few{{"iterations", "1"}, {"sizes", "64KiB"}};
  const auto whole = copy(few);
  ASSERT_TRUE(whole[0].status) << whole[0].status.error().message;
  const std::uint64_t calls =
      std::min<std::uint64_t>(cuda_control().calls, full_check() ? 400 : 50);
  for (std::uint64_t call = 1; call <= calls; ++call) {
    SetUp();
    cuda_control().fail_call = call;
    const auto results = copy(few);
    for (const RankResult& result : results) expect_clear(result.status, call);
    EXPECT_EQ(cuda_control().live_handles(), 0) << call;
  }
}

}  // namespace
}  // namespace railgauge::cuda
