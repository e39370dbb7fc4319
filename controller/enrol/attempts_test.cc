#include "controller/enrol/attempts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace railgauge::enrol {
namespace {

constexpr Attempts::Bounds kThree{.burst = 3, .seconds = 30, .most_parties = 4};

TEST(Attempts, APartyHasItsBurstAndThenOneTryATime) {
  Attempts attempts(kThree);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(attempts.may("a", 100)) << i;
    attempts.take("a", 100);
  }
  EXPECT_FALSE(attempts.may("a", 100));
  EXPECT_FALSE(attempts.may("a", 109));
  EXPECT_TRUE(attempts.may("a", 110));
  attempts.take("a", 110);
  EXPECT_FALSE(attempts.may("a", 110));
}

TEST(Attempts, OnePartyTakesNothingFromAnother) {
  Attempts attempts(kThree);
  for (int i = 0; i < 9; ++i) attempts.take("a", 0);
  EXPECT_FALSE(attempts.may("a", 0));
  EXPECT_TRUE(attempts.may("b", 0));
}

TEST(Attempts, AClockThatGoesBackGivesNothing) {
  Attempts attempts(kThree);
  for (int i = 0; i < 3; ++i) attempts.take("a", 1'000);
  EXPECT_FALSE(attempts.may("a", 0));
}

// Otherwise whoever has many addresses would have the controller's memory.
TEST(Attempts, PartiesBeyondTheBoundShareOneAllowanceAndRestedOnesGo) {
  Attempts attempts(kThree);
  for (int party = 0; party < 1'000; ++party) attempts.take(fmt::format("p{}", party), 0);
  EXPECT_EQ(attempts.parties(), 4U);
  EXPECT_FALSE(attempts.may("another", 0));
  EXPECT_TRUE(attempts.may("another", 60));  // the four have rested
  EXPECT_EQ(attempts.parties(), 1U);
}

}  // namespace
}  // namespace railgauge::enrol
