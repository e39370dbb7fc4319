#include "kernels/core/stats/dependence.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

// A stationary Gaussian first-order autoregression of deviation 1 about 0.
std::vector<double> autoregression(std::size_t n, double correlation, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> values(n);
  double x = noise(random);
  for (double& value : values) {
    value = x;
    x = correlation * x + std::sqrt(1 - correlation * correlation) * noise(random);
  }
  return values;
}

// Its signs about its median.
std::vector<double> signs_of(std::size_t n, double correlation, std::uint64_t seed) {
  return centred_signs(autoregression(n, correlation, seed), 0);
}

// Signs correlate by 2/pi * asin(rho^k) at lag k.
double true_count(std::size_t n, double correlation) {
  double time = 1;
  for (double power = correlation; power > 1e-6; power *= correlation)
    time += 4 / M_PI * std::asin(power);
  return static_cast<double>(n) / time;
}

TEST(CentredSigns, AreBelowAtAndAboveTheLevelLessTheirMean) {
  EXPECT_EQ(centred_signs(std::vector<double>{1, 2, 3}, 2), (std::vector<double>{-1, 0, 1}));
  EXPECT_EQ(centred_signs(std::vector<double>{3, 3}, 2), (std::vector<double>{0, 0}));
  EXPECT_TRUE(centred_signs({}, 2).empty());
}

TEST(LikelyCount, IsTheCountForIndependentSamplesAsARule) {
  for (const std::size_t n : {500U, 5000U}) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      const double count = likely_count(signs_of(n, 0, seed));
      ASSERT_LE(count, static_cast<double>(n));
      sum += count / 50;
    }
    EXPECT_GE(sum, 0.97 * static_cast<double>(n));
  }
}

TEST(LikelyCount, ShrinksAsTheDependenceSays) {
  constexpr std::size_t kSamples = 200'000;
  for (const double correlation : {0.5, 0.9, 0.99, 0.999}) {
    const double expected = true_count(kSamples, correlation);
    const double count = likely_count(signs_of(kSamples, correlation, 5));
    EXPECT_GT(count, expected / 1.5) << correlation;
    EXPECT_LT(count, expected * 1.5) << correlation;
  }
}

TEST(LikelyCount, OfOneSlowMovementIsFew) {
  std::vector<double> ramp(10'000);
  std::iota(ramp.begin(), ramp.end(), 0);
  EXPECT_LT(likely_count(centred_signs(ramp, 5000)), 6);
  EXPECT_EQ(likely_count({}), 0);
  EXPECT_EQ(likely_count(std::vector<double>(7, 0)), 7) << "equal samples depend on nothing";
}

// The share of exceedances of 3.09 deviations in an autoregression of 0.99 that are independent is
// some 1 of 40; so few of them show less. About the median it is 1 of 140.
TEST(QuantileCount, IsThatOfTheDependenceAboutTheMedianWhereFewSamplesAreAbove) {
  constexpr std::size_t kSamples = 90'000;
  const std::vector<double> values = autoregression(kSamples, 0.99, 3);
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const double median = sorted[kSamples / 2];
  const double high = sorted[kSamples - kSamples / 1000];
  const double count = quantile_count(values, median, high, 0.999);
  EXPECT_GT(count, kSamples / 70.0);
  EXPECT_LT(count, kSamples / 25.0);
  EXPECT_LE(count, likely_count(centred_signs(values, high)));
  const std::vector<double> independent = autoregression(5000, 0, 4);
  EXPECT_GT(quantile_count(independent, 0, 2.326, 0.99), 4800);
  EXPECT_EQ(quantile_count(std::vector<double>(9, 1), 1, 1, 0.99), 9);
}

TEST(SafeCount, IsHardlyEverAboveTheTrueCount) {
  for (const double correlation : {0.0, 0.5, 0.9, 0.95})
    for (const std::size_t n : {60U, 600U, 6000U}) {
      if (true_count(n, correlation) < 20) continue;  // too few to say so: never called precise
      int above = 0;
      for (std::uint64_t seed = 1; seed <= 200; ++seed)
        above += safe_count(signs_of(n, correlation, seed)) > true_count(n, correlation) ? 1 : 0;
      EXPECT_LE(above, 10) << correlation << ' ' << n;
    }
}

TEST(SafeCount, LeavesEnoughOfManyIndependentSamples) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed)
    sum += safe_count(signs_of(10'000, 0, seed)) / 50;
  EXPECT_GE(sum, 5000);
}

TEST(SafeCount, IsNothingBelowEightSamplesAndForOneMovement) {
  EXPECT_EQ(safe_count(std::vector<double>{1, -1, 1, -1, 1, -1, 0}), 0);
  EXPECT_EQ(safe_count(std::vector<double>(5, 0)), 5) << "equal samples depend on nothing";
  std::vector<double> step(10'000, -1);
  std::fill(step.begin() + 5000, step.end(), 1);
  EXPECT_LT(safe_count(step), 1);
}

// A stop rule takes runs whose interval is narrow, so those have to hold as well as all do.
TEST(MeanHalfWidth, HoldsInTheRunsThatLookSurestToo) {
  constexpr int kRuns = 4000;
  for (const double correlation : {0.0, 0.5, 0.8, 0.9, 0.95}) {
    std::vector<std::pair<double, bool>> by_width;
    for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
      std::vector<double> values = autoregression(400, correlation, seed);
      const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 400;
      for (double& value : values) value -= mean;
      const double half_width = mean_half_width(std::move(values));
      by_width.emplace_back(half_width, std::abs(mean) <= half_width);
    }
    std::ranges::sort(by_width);
    for (const std::size_t surest : {kRuns / 10, kRuns}) {
      const auto held = std::count_if(by_width.begin(), by_width.begin() + surest,
                                      [](const auto& run) { return run.second; });
      EXPECT_GE(static_cast<double>(held), 0.93 * static_cast<double>(surest))
          << correlation << " " << surest;
    }
  }
}

TEST(MeanHalfWidth, OfIndependentValuesIsNearTheNormalOne) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::vector<double> values = autoregression(1000, 0, seed);
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 1000;
    for (double& value : values) value -= mean;
    sum += mean_half_width(std::move(values)) / 200;
  }
  const double normal = 1.96 / std::sqrt(1000.0);
  EXPECT_GT(sum, normal);
  EXPECT_LT(sum, 2 * normal);
}

}  // namespace
}  // namespace railgauge
