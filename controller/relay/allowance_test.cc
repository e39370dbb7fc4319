#include "controller/relay/allowance.h"

#include <gtest/gtest.h>

namespace railgauge::relay {
namespace {

TEST(Allowance, TheFirstWorkIsFreeAndADebtIsPaidInTime) {
  Allowance allowance(0);
  EXPECT_EQ(allowance.take(static_cast<std::uint32_t>(Allowance::kMost), 0), 0);
  EXPECT_DOUBLE_EQ(allowance.take(50'000, 0), 0.5);
  EXPECT_DOUBLE_EQ(allowance.wait(0.25), 0.25);
  EXPECT_EQ(allowance.wait(0.5), 0);
  EXPECT_DOUBLE_EQ(allowance.take(100'000, 0.5), 1);
}

TEST(Allowance, ALongRestGivesNoMoreThanTheMost) {
  Allowance allowance(0);
  EXPECT_EQ(allowance.take(200'000, 1e6), 0);
  EXPECT_DOUBLE_EQ(allowance.take(1'000, 1e6), 0.01);
}

TEST(Allowance, AClockThatFallsGivesNothing) {
  Allowance allowance(10);
  allowance.take(static_cast<std::uint32_t>(Allowance::kMost), 10);
  EXPECT_DOUBLE_EQ(allowance.take(1'000, 5), 0.01);
  EXPECT_DOUBLE_EQ(allowance.wait(10), 0.01);
}

}  // namespace
}  // namespace railgauge::relay
