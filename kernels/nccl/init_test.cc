// The start and the end of communicators, on the fakes.
#include "kernels/core/base/outcome.h"
#include "kernels/nccl/testing/on_fake_ranks.h"

namespace railgauge::nccl {
namespace {

using fake::nccl_control;
using fake::RankResult;
using ::testing::HasSubstr;

class StartUp : public OnFakeRanks {
 protected:
  static std::vector<RankResult> start(std::uint32_t ranks, Parameters parameters = {}) {
    return fake::run_ranks(*find_kernel("nccl.init"), {.parameters = parameters, .ranks = ranks});
  }
};

TEST_F(StartUp, HasTheFirstRoundAndTheOthersAsPointsOfTheirOwn) {
  for (const std::uint32_t ranks : {1U, 3U}) {
    const auto results = start(ranks, {{"iterations", "4"}});
    expect_passed(results);
    std::map<std::string, double> samples;
    for (const Point& point : results[0].points) {
      EXPECT_TRUE(point.verified());
      EXPECT_TRUE(point.synthetic());
      EXPECT_GT(point.median(), 0);
      samples[point.metric() + " " + point.meaning()] = point.sample_count();
    }
    for (const char* metric : {"init_ns", "first_call_ns", "split_ns", "end_ns"}) {
      EXPECT_EQ(samples[std::string(metric) + " first"], 1) << metric;
      EXPECT_EQ(samples[std::string(metric) + " again"], 3) << metric;
    }
    for (std::size_t rank = 1; rank < results.size(); ++rank)
      EXPECT_TRUE(results[rank].points.empty()) << "rank 0 reports";
  }
}

TEST_F(StartUp, OfOneRoundIsTheFirstAlone) {
  const auto results = start(2, {{"iterations", "1"}});
  expect_passed(results);
  EXPECT_EQ(results[0].points.size(), 4U);
}

TEST_F(StartUp, WithAWrongNumberIsAFailure) {
  for (const std::uint64_t fault : {1U, 2U}) {
    reset_fakes();
    nccl_control().fault = fault;
    nccl_control().fault_of = 2;
    for (const RankResult& result : start(2)) {
      ASSERT_FALSE(result.status);
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
      EXPECT_THAT(result.status.error().message, HasSubstr("(the sum of 2 ranks)"));
      EXPECT_TRUE(result.points.empty());
    }
  }
}

TEST_F(StartUp, ThatOneRankNeverReachesEndsAllInTime) {
  nccl_control().hang_join_of = 2;
  for (const RankResult& result : start(3, {{"join_timeout", "200ms"}})) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(outcome_of(result.status.error().code), kTimedOut) << result.status.error().message;
    EXPECT_THAT(result.status.error().message, HasSubstr("round 1"));
  }
}

TEST_F(StartUp, SurvivesAFailureOfEachCallWithoutALeak) {
  const Parameters few{{"iterations", "2"}, {"join_timeout", "300ms"}};
  expect_passed(start(2, few));
  const std::uint64_t calls = nccl_control().calls;
  EXPECT_GT(calls, 15U);
  for (std::uint64_t call = 1; call <= calls; ++call) {
    SetUp();
    nccl_control().fail_call = call;
    const auto results = start(2, few);
    settle();
    EXPECT_EQ(nccl_control().live_handles(), 0) << call;
    EXPECT_EQ(fake::cuda_control().live_handles(), 0) << call;
    bool failed = false;
    for (const RankResult& result : results) {
      expect_clear(result.status, call);
      failed = failed || !result.status;
    }
    EXPECT_TRUE(failed) << "call " << call;
  }
}

}  // namespace
}  // namespace railgauge::nccl
