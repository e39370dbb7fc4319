#include "agent/link/backoff.h"

#include <gtest/gtest.h>

namespace railgauge::agent {
namespace {

constexpr double kAlmostOne = 0.999999;

TEST(Backoff, DoublesUpToItsBoundAndStaysThere) {
  Backoff backoff({.first_seconds = 1, .most_seconds = 5, .refused_seconds = 60});
  EXPECT_NEAR(backoff.next_seconds(kAlmostOne), 1, 1e-5);
  EXPECT_NEAR(backoff.next_seconds(kAlmostOne), 2, 1e-5);
  EXPECT_NEAR(backoff.next_seconds(kAlmostOne), 4, 1e-5);
  EXPECT_NEAR(backoff.next_seconds(kAlmostOne), 5, 1e-5);
  EXPECT_NEAR(backoff.next_seconds(kAlmostOne), 5, 1e-5);
}

TEST(Backoff, JitterTakesAwayAtMostHalf) {
  Backoff backoff({.first_seconds = 4, .most_seconds = 4, .refused_seconds = 60});
  EXPECT_DOUBLE_EQ(backoff.next_seconds(0), 2);
  EXPECT_DOUBLE_EQ(backoff.next_seconds(0.5), 3);
}

TEST(Backoff, StartsOverAfterAReset) {
  Backoff backoff({.first_seconds = 1, .most_seconds = 8, .refused_seconds = 60});
  backoff.next_seconds(0);
  backoff.next_seconds(0);
  backoff.reset();
  EXPECT_DOUBLE_EQ(backoff.next_seconds(0), 0.5);
}

TEST(Backoff, APermanentRefusalWaitsLongWithoutMovingTheStep) {
  Backoff backoff({.first_seconds = 1, .most_seconds = 8, .refused_seconds = 60});
  EXPECT_DOUBLE_EQ(backoff.refused_seconds(0), 30);
  EXPECT_DOUBLE_EQ(backoff.next_seconds(0), 0.5);
}

}  // namespace
}  // namespace railgauge::agent
