// Copies of many processes' GPUs on the fake driver: all ranks in this process, each with mappings
// of its own.
#include <gmock/gmock.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/kernel.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/ranks.h"

namespace railgauge {
extern const KernelRow kCudaRanksCopyBw;
}  // namespace railgauge

namespace railgauge::cuda {
namespace {

using fake::cuda_control;
using fake::RankResult;
using ::testing::HasSubstr;

class ManyRanksTest : public gpu::OnFakes {
 protected:
  using Given = std::map<std::string, std::string>;
  static std::vector<RankResult> copy(Given given, std::uint32_t ranks) {
    cuda_control().gpus = ranks;
    fake::nvml_control().gpus = ranks;
    given.try_emplace("iterations", "2");
    given.try_emplace("sizes", "64KiB");
    given.try_emplace("copies", "4");
    return fake::run_ranks(kCudaRanksCopyBw, {.parameters = std::move(given), .ranks = ranks});
  }
  static void expect_measured(const std::vector<RankResult>& results) {
    for (const RankResult& result : results)
      ASSERT_TRUE(result.status) << result.status.error().message;
    ASSERT_EQ(results[0].points.size(), 1U);
    const Point& point = results[0].points[0];
    EXPECT_TRUE(point.verified());
    EXPECT_TRUE(point.synthetic());
    EXPECT_EQ(point.meaning(), "overlap_sum");
    EXPECT_GT(point.median(), 0);
    EXPECT_TRUE(results[1].points.empty());
  }
};

TEST_F(ManyRanksTest, MeasureAndCompareEachPattern) {
  const std::map<std::string, std::uint32_t> patterns{
      {"both_read", 2}, {"both_write", 2}, {"all_to_one", 3}, {"all_from_one", 3}, {"bisect", 4}};
  for (const auto& [pattern, ranks] : patterns)
    for (const char* engine : {"ce", "sm", "tma"}) {
      SCOPED_TRACE(pattern + " " + engine);
      expect_measured(copy({{"pattern", pattern}, {"engine", engine}}, ranks));
    }
}

TEST_F(ManyRanksTest, LendByFabricHandles) {
  cuda_control().fabric = 1;
  expect_measured(copy({{"pattern", "bisect"}, {"handle", "fabric"}}, 2));
  cuda_control().fabric = 0;
  for (const RankResult& result : copy({{"handle", "fabric"}}, 2)) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(outcome_of(result.status.error().code), kWaived) << result.status.error().message;
  }
}

TEST_F(ManyRanksTest, GiveAllTheBytesToTheRanksThatCopy) {
  const auto results = copy({{"pattern", "all_to_one"}, {"one", "2"}}, 3);
  ASSERT_TRUE(results[0].status) << results[0].status.error().message;
  const std::string& shares = results[0].points.at(0).facts().at("rank_shares");
  EXPECT_TRUE(shares.ends_with(", 0.000")) << shares;
}

// A copying rank would be content with any memory that keeps what it writes.
TEST_F(ManyRanksTest, FindOtherMemoryThanTheLent) {
  for (const char* pattern : {"both_read", "both_write", "bisect"}) {
    cuda_control().import_other = 1;
    for (const RankResult& result : copy({{"pattern", pattern}}, 2)) {
      ASSERT_FALSE(result.status);
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
      EXPECT_TRUE(result.points.empty());
    }
  }
}

TEST_F(ManyRanksTest, FindAWrongByte) {
  cuda_control().flip_byte = 1;
  for (const RankResult& result : copy({{"pattern", "both_write"}}, 2)) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
  }
}

TEST_F(ManyRanksTest, RefuseNumbersOfRanksThatAPatternLacks) {
  const auto code = [](const std::vector<RankResult>& results) {
    return results[0].status ? Code::kInternal : results[0].status.error().code;
  };
  EXPECT_EQ(code(copy({{"pattern", "both_read"}}, 3)), Code::kInvalidArgument);
  EXPECT_EQ(code(copy({{"pattern", "bisect"}}, 3)), Code::kInvalidArgument);
  EXPECT_EQ(code(copy({{"pattern", "all_to_one"}, {"one", "2"}}, 2)), Code::kInvalidArgument);
}

}  // namespace
}  // namespace railgauge::cuda
