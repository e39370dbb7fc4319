#include "controller/plan/policy/learned_times.h"

#include <limits>

#include <gtest/gtest.h>

namespace railgauge::plan {
namespace {

StageTime time_of(double longest, double seconds) {
  return {.key = "a", .rounds = 1, .longest_seconds = longest, .seconds = seconds};
}

TEST(LearnedTimes, AStageWithoutARunHasNoShare) {
  EXPECT_FALSE(LearnedTimes().share_of("a").has_value());
}

TEST(LearnedTimes, TheMedianOfTheRunsCounts) {
  LearnedTimes times;
  times.add(time_of(10, 4));
  EXPECT_DOUBLE_EQ(times.share_of("a").value_or(0), 0.4);
  times.add(time_of(20, 10));
  EXPECT_DOUBLE_EQ(times.share_of("a").value_or(0), 0.45);
  times.add(time_of(1, 3600));  // it waited
  EXPECT_DOUBLE_EQ(times.share_of("a").value_or(0), 0.5);
  EXPECT_FALSE(times.share_of("b").has_value());
}

TEST(LearnedTimes, ANodeThatIsAwayCostsNoEstimate) {
  LearnedTimes times;
  const auto add = [&](const std::string& key, double share) {
    times.add({.key = key, .rounds = 1, .longest_seconds = 10, .seconds = 10 * share});
  };
  add("nccl.all_reduce on group of 512 nodes, op=sum", 0.4);
  add("nccl.all_reduce on group of 300 nodes, op=sum", 0.2);
  add("nccl.all_reduce on group of 500 nodes", 0.9);
  const auto share = [&](const std::string& nodes) {
    return times.share_of("nccl.all_reduce on group of " + nodes + " nodes, op=sum").value_or(0);
  };
  EXPECT_DOUBLE_EQ(share("512"), 0.4);
  EXPECT_DOUBLE_EQ(share("511"), 0.4);
  EXPECT_DOUBLE_EQ(share("301"), 0.2);
  EXPECT_EQ(share("100"), 0) << "far fewer nodes are another thing";
}

TEST(LearnedTimes, ATimeThatIsNoTimeIsLeftOut) {
  LearnedTimes times;
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN()}) {
    times.add(time_of(10, bad));
    times.add(time_of(bad, 10));
  }
  EXPECT_FALSE(times.share_of("a").has_value());
}

}  // namespace
}  // namespace railgauge::plan
