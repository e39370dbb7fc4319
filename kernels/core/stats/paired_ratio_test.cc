#include "kernels/core/stats/paired_ratio.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

TEST(PairedRatio, GivesTheExactIntervalOfNinePairs) {
  // Log ratios 0.01 to 0.09: the Walsh averages are known. The tables' two-sided 5 % critical value
  // for n = 9 is 5, so the interval runs from the sixth smallest average (1, 1.5, 2, 2, 2.5, 2.5)
  // to the sixth largest, with confidence 1 - 2 * 10/512.
  std::vector<double> a;
  const std::vector<double> b(9, 1.0);
  for (int k = 1; k <= 9; ++k) a.push_back(std::exp(k / 100.0));
  const auto ratio = paired_ratio(a, b);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(std::log(ratio->ratio), 0.05, 1e-12);
  EXPECT_NEAR(std::log(ratio->low), 0.025, 1e-12);
  EXPECT_NEAR(std::log(ratio->high), 0.075, 1e-12);
  EXPECT_NEAR(ratio->confidence, 1 - 20.0 / 512, 1e-12);
}

TEST(PairedRatio, HoldsTheTruthAsOftenAsItSaysDespiteDrift) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.05);
  int held = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a;
    std::vector<double> b;
    double drift = 1;
    for (int i = 0; i < 9; ++i) {
      drift *= 1.1;  // the machine gets slower and slower; both programs feel it
      a.push_back(1.2 * drift * std::exp(noise(random)));
      b.push_back(drift * std::exp(noise(random)));
    }
    held += paired_ratio(a, b)->holds(1.2) ? 1 : 0;
  }
  EXPECT_GE(held, static_cast<int>(0.95 * kTrials));
  EXPECT_LE(held, static_cast<int>(0.975 * kTrials));  // and is no wider than it need be
}

TEST(PairedRatio, RefusesWhatCannotBoundAnything) {
  const std::vector<double> five(5, 1.0);
  EXPECT_EQ(paired_ratio(five, five).error().code, Code::kFailedPrecondition);
  const std::vector<double> six(6, 1.0);
  EXPECT_EQ(paired_ratio(six, five).error().code, Code::kInvalidArgument);
  std::vector<double> zero(6, 1.0);
  zero[3] = 0;
  EXPECT_EQ(paired_ratio(zero, six).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(paired_ratio(six, six)->holds(1));
}

}  // namespace
}  // namespace railgauge
