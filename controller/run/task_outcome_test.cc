#include "controller/run/task_outcome.h"

#include <gmock/gmock.h>

#include <vector>

namespace railgauge::run {
namespace {

TEST(TaskOutcome, AWordThatTheContractDoesNotHaveIsACrash) {
  for (const char* known : {"passed", "failed", "crashed", "timed_out", "waived", "cancelled"})
    EXPECT_EQ(known_outcome(known), known);
  for (const char* unknown : {"", "Passed", "exploded"})
    EXPECT_EQ(known_outcome(unknown), "crashed");
}

TEST(TaskOutcome, ABystanderOfAWaivedOrCancelledRankDidNotCrash) {
  EXPECT_EQ(bystander_outcome("waived"), "cancelled");
  EXPECT_EQ(bystander_outcome("cancelled"), "cancelled");
  EXPECT_EQ(bystander_outcome("timed_out"), "timed_out");
  EXPECT_EQ(bystander_outcome("failed"), "crashed");
  EXPECT_EQ(bystander_outcome("crashed"), "crashed");
}

TEST(TaskOutcome, TheWorstEndDecidesAndBringsEveryReasonOfItsOutcome) {
  const std::vector<RankEnd> ends{
      {"passed", ""}, {"timed_out", "late"}, {"failed", "wrong data"}, {"failed", "no QP"}};
  const RankEnd worst = worst_of(ends);
  EXPECT_EQ(worst.outcome, "failed");
  EXPECT_EQ(worst.reason, "wrong data; no QP");
}

TEST(TaskOutcome, WithoutAReasonForAnythingTheTaskPassed) {
  EXPECT_EQ(worst_of({}).outcome, "passed");
  const std::vector<RankEnd> passed{{"passed", ""}, {"passed", ""}};
  EXPECT_EQ(worst_of(passed).outcome, "passed");
}

TEST(TaskOutcome, TheReasonsTogetherHaveABound) {
  const std::vector<RankEnd> ends(40, RankEnd{"crashed", std::string(100, 'x')});
  EXPECT_EQ(worst_of(ends).reason.size(), kMaxReasonBytes);
}

}  // namespace
}  // namespace railgauge::run
