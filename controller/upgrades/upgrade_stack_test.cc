#include "controller/upgrades/upgrade_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kNow = 1e9;

TEST(UpgradeCohorts, NodesThatMovedToTheSameAreOneWhenTheLastIsStable) {
  const std::vector<MovedNode> moved{{.node = "n2", .to = "driver -> 2", .since = kNow - 1200},
                                     {.node = "n1", .to = "driver -> 2", .since = kNow - 3600},
                                     {.node = "n3", .to = "driver -> 3", .since = kNow - 60}};
  const auto cohorts = stable_cohorts(moved, kNow);
  ASSERT_THAT(cohorts, SizeIs(1));
  EXPECT_THAT(cohorts[0].nodes, ElementsAre("n1", "n2"));
  EXPECT_EQ(cohorts[0].to, "driver -> 2");
  EXPECT_THAT(stable_cohorts(moved, kNow + kStableSeconds), SizeIs(2));
}

TEST(UpgradeCohorts, ARolloutThatGoesOnIsWaitedForAlsoByThoseThatWereHandled) {
  std::vector<MovedNode> moved{{.node = "n1", .to = "a", .since = kNow - 3600, .handled = true},
                               {.node = "n2", .to = "a", .since = kNow - 60}};
  EXPECT_THAT(stable_cohorts(moved, kNow), IsEmpty());
  EXPECT_THAT(stable_cohorts(moved, kNow + kStableSeconds)[0].nodes, ElementsAre("n2"));
}

TEST(UpgradeCohorts, WhatNobodyJudgedInADayIsLeft) {
  const std::vector<MovedNode> moved{
      {.node = "n1", .to = "a", .since = kNow - kLongAgoSeconds - 1}};
  EXPECT_THAT(stable_cohorts(moved, kNow), IsEmpty());
  EXPECT_THAT(stable_cohorts(moved, kNow, kWindowAgoSeconds), SizeIs(1)) << "its window is to come";
}

TEST(UpgradeCohorts, OneInTwentyAtOnceAndOneAtLeast) {
  EXPECT_EQ(most_at_once(4), 1U);
  EXPECT_EQ(most_at_once(40), 2U);
  EXPECT_EQ(most_at_once(1024), 51U);
}

}  // namespace
}  // namespace railgauge
