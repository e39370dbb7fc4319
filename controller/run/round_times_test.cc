#include "controller/run/round_times.h"

#include <gtest/gtest.h>

namespace railgauge::run {
namespace {

// Two rounds of stage 0 with two tasks each, one round of stage 1; the last task is waived.
constexpr TimedTask kTimed[] = {{0, 0, 10}, {0, 0, 4}, {0, 1, 10}, {0, 1, 10}, {1, 2, 20}, {1, 2}};

RoundTimes times_of(std::span<const TimedTask> tasks, double settle_seconds) {
  RoundTimes times(settle_seconds);
  times.add(0, tasks);
  return times;
}

void pass(RoundTimes& times, std::size_t index, double from, double to) {
  times.begun(index, from);
  times.ended(index, true, to);
}

TEST(RoundTimes, ARoundLastsFromItsFirstBeginToTheNextOne) {
  RoundTimes times = times_of(kTimed, 0);
  pass(times, 1, 100, 102);
  pass(times, 0, 100, 104);
  pass(times, 3, 104.5, 108);
  pass(times, 2, 104.5, 109);
  pass(times, 4, 109, 115);
  const auto stages = times.stages();
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].rounds, 2U);
  EXPECT_DOUBLE_EQ(stages[0].longest_seconds, 20);
  EXPECT_DOUBLE_EQ(stages[0].seconds, 9);
  EXPECT_EQ(stages[1].stage, 1U);
  EXPECT_DOUBLE_EQ(stages[1].longest_seconds, 20);
  EXPECT_DOUBLE_EQ(stages[1].seconds, 6);
}

TEST(RoundTimes, TimeBetweenRoundsCountsUpToItsBound) {
  RoundTimes times = times_of(kTimed, 2);
  times.begun(0, 0);
  times.begun(1, 0);
  times.ended(1, true, 3);
  times.ended(0, true, 5);
  times.begun(2, 1000);  // the run waited
  times.begun(3, 1000);
  times.ended(2, true, 1004);
  times.ended(3, true, 1004);
  const auto stages = times.stages();
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_DOUBLE_EQ(stages[0].seconds, (5 + 2 + RoundTimes::kMostGapSeconds) + 4);
}

TEST(RoundTimes, ARoundWithFailuresDoesNotCount) {
  RoundTimes times = times_of(kTimed, 0);
  pass(times, 0, 0, 5);
  times.begun(1, 0);
  times.ended(1, false, 1);
  EXPECT_TRUE(times.stages().empty());
}

TEST(RoundTimes, ALateEndBesideTheNextRoundDoesNotCount) {
  RoundTimes times = times_of(kTimed, 0);
  pass(times, 0, 0, 5);
  times.begun(1, 0);
  times.begun(2, 6);
  times.ended(1, true, 50);
  EXPECT_TRUE(times.stages().empty());
  times.ended(99, true, 51);  // a task that was added after the plan
  times.begun(99, 51);
}

TEST(RoundTimes, WaivedTasksAndRoundsThatNeverBeganAreNoTime) {
  EXPECT_TRUE(times_of(kTimed, 0).stages().empty());
  constexpr TimedTask kWaived[] = {{0, 0}};
  RoundTimes times = times_of(kWaived, 0);
  pass(times, 0, 0, 5);
  EXPECT_TRUE(times.stages().empty());
}

}  // namespace
}  // namespace railgauge::run
