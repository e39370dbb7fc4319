#include "controller/relay/allowance.h"

#include <gtest/gtest.h>

namespace railgauge::relay {
namespace {

constexpr auto kAll = static_cast<std::uint32_t>(Allowance::kMost);

TEST(Allowance, TheFirstWorkIsFreeAndADebtIsPaidInTime) {
  Allowance allowance(0);
  EXPECT_TRUE(allowance.is_full(0));
  allowance.take(kAll, 0);
  EXPECT_EQ(allowance.wait(0), 0);
  EXPECT_FALSE(allowance.is_full(0));
  allowance.take(50'000, 0);
  EXPECT_DOUBLE_EQ(allowance.wait(0), 0.5);
  EXPECT_DOUBLE_EQ(allowance.wait(0.25), 0.25);
  EXPECT_EQ(allowance.wait(0.5), 0);
  allowance.take(100'000, 0.5);
  EXPECT_DOUBLE_EQ(allowance.wait(0.5), 1);
}

TEST(Allowance, ALongRestGivesNoMoreThanTheMost) {
  Allowance allowance(0);
  allowance.take(kAll, 1e6);
  EXPECT_EQ(allowance.wait(1e6), 0);
  allowance.take(10'000, 1e6);
  EXPECT_DOUBLE_EQ(allowance.wait(1e6), 0.1);
  EXPECT_TRUE(allowance.is_full(1e6 + 3));
}

TEST(Allowance, ASmallDebtWaitsTheShortestTime) {
  Allowance allowance(0);
  allowance.take(kAll + 1, 0);
  EXPECT_DOUBLE_EQ(allowance.wait(0), Allowance::kLeastWaitSeconds);
}

TEST(Allowance, AClockThatFallsGivesNothing) {
  Allowance allowance(10);
  allowance.take(kAll + 10'000, 10);
  EXPECT_DOUBLE_EQ(allowance.wait(5), 0.1);
  EXPECT_DOUBLE_EQ(allowance.wait(10), 0.1);
}

TEST(Allowance, UnfinishedBytesOfAllConnectionsHaveABound) {
  Allowance allowance(0);
  constexpr std::size_t kHalf = Allowance::kMostUnfinishedBytes / 2;
  EXPECT_TRUE(allowance.change_unfinished(0, kHalf));
  EXPECT_TRUE(allowance.change_unfinished(0, kHalf));
  EXPECT_FALSE(allowance.change_unfinished(kHalf, kHalf + 1));
  EXPECT_TRUE(allowance.change_unfinished(kHalf + 1, 0)) << "less is always right";
  EXPECT_TRUE(allowance.change_unfinished(0, kHalf));
}

}  // namespace
}  // namespace railgauge::relay
