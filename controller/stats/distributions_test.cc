#include "controller/stats/distributions.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "controller/detect/changes.h"
#include "controller/detect/fit.h"
#include "controller/stats/noise.h"
#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

TEST(Distributions, NormalTailsAreThoseOfTheTable) {
  EXPECT_NEAR(normal_upper_tail(1.959964), 0.025, 1e-7);
  EXPECT_NEAR(normal_quantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(chi_square_upper_tail(3.841459, 1), 0.05, 1e-7);
  EXPECT_NEAR(chi_square_upper_tail(18.307038, 10), 0.05, 1e-7);
  EXPECT_NEAR(fisher_p(1, 10, 11, 14), 0.0027594562, 1e-9);  // 1 of 10 against 11 of 14
}

TEST(Distributions, EndsOfTheScaleAreNoErrors) {
  EXPECT_DOUBLE_EQ(normal_quantile(0), -40);
  EXPECT_DOUBLE_EQ(normal_quantile(1), 40);
  EXPECT_DOUBLE_EQ(chi_square_upper_tail(-1, 1), 1);
  EXPECT_DOUBLE_EQ(chi_square_upper_tail(std::nan(""), 1), 1);
  EXPECT_DOUBLE_EQ(chi_square_upper_tail(std::numeric_limits<double>::infinity(), 1), 0);
}

TEST(Distributions, FishersTiesCountAndItsEdgesAreCertain) {
  EXPECT_NEAR(fisher_p(3, 4, 1, 4), 34.0 / 70, 1e-12);  // the mirrored table is as likely
  EXPECT_NEAR(fisher_p(0, 5, 0, 7), 1, 1e-12);
  EXPECT_NEAR(fisher_p(5, 5, 7, 7), 1, 1e-12);
  EXPECT_NEAR(fisher_p(5, 5, 0, 5), 2.0 / 252, 1e-12);
  EXPECT_LT(fisher_p(1000, 20'000, 2000, 20'000), 1e-70);  // runs of a large fleet
}

TEST(Distributions, AHypergeometricTailIsThatOfTheTable) {
  EXPECT_NEAR(hypergeometric_upper_tail(2, 3, 4, 10), 1.0 / 3, 1e-12);
  EXPECT_DOUBLE_EQ(hypergeometric_upper_tail(0, 3, 4, 10), 1);
  EXPECT_DOUBLE_EQ(hypergeometric_upper_tail(4, 3, 4, 10), 0);
  EXPECT_DOUBLE_EQ(hypergeometric_upper_tail(3, 8, 5, 10), 1);  // fewer are not possible
}

TEST(Noise, StepsDoNotPassForNoise) {
  auto values = null_series(Null::kGaussian, 200, 3);
  const Noise clean = estimate_noise(values, 0, {});
  for (std::size_t i = 100; i < values.size(); ++i) values[i] += 50;
  const Noise stepped = estimate_noise(values, 0, {});
  EXPECT_NEAR(clean.scale, 1, 0.25);
  EXPECT_NEAR(stepped.scale, clean.scale, 0.1);
  EXPECT_LT(stepped.rho, 0.2);
}

TEST(Noise, CorrelationIsSeenInDifferences) {
  double sum = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    sum += estimate_noise(null_series(Null::kCorrelated, 365, seed), 0, {}).raw_rho / 40;
  EXPECT_NEAR(sum, 0.5, 0.05);
}

TEST(Noise, AQuantisedSeriesKeepsItsFloor) {
  const std::vector<double> values(40, 7.0);
  EXPECT_DOUBLE_EQ(estimate_noise(values, 0.3, {}).scale, 0.3);
  EXPECT_DOUBLE_EQ(estimate_noise(values, 0.3, {}).rho, 0);
}

TEST(Noise, ShortMeansOfCorrelatedRunsVaryLessThanLongOnesPromise) {
  Noise noise{.scale = 1, .raw_scale = 1, .rho = 0.5};
  EXPECT_NEAR(noise.variance_of_mean(1, 0.5), 1 / (1 - 0.5), 1e-12);  // the marginal variance
  EXPECT_NEAR(noise.variance_of_mean(1e6, 0.5) * 1e6, noise.factor(), 1e-4);
  noise.rho = 0;
  EXPECT_NEAR(noise.variance_of_mean(4, 0), 0.25, 1e-12);
}

TEST(Spikes, OneOrTwoRunsArePulledInAndALevelIsNot) {
  std::vector<double> values(30, 10.0);
  values[8] = 30;
  values[20] = values[21] = -5;
  const Clipped clipped = clip_spikes(values, 1);
  EXPECT_EQ(clipped.indices, (std::vector<std::size_t>{8, 20, 21}));
  EXPECT_DOUBLE_EQ(clipped.values[8], 11);
  EXPECT_DOUBLE_EQ(clipped.values[21], 9);
  std::vector<double> step(30, 10.0);
  for (std::size_t i = 27; i < step.size(); ++i) step[i] = 30;  // three runs at the end
  EXPECT_TRUE(clip_spikes(step, 1).indices.empty());
}

TEST(Selection, ThePOfTheBestSplitHoldsInSimulation) {
  constexpr int kSeries = 2000;
  int beyond = 0;
  for (std::uint64_t seed = 0; seed < kSeries; ++seed) {
    const auto values = null_series(Null::kGaussian, 100, seed);
    double sum = 0;
    for (const double v : values) sum += v - 100;
    double left = 0;
    double largest = 0;
    for (std::size_t at = 1; at <= 97; ++at) {
      left += values[at - 1] - 100;
      const auto t = static_cast<double>(at);
      if (at >= 3)
        largest =
            std::max(largest, std::abs(left - sum * t / 100) / std::sqrt(t * (100 - t) / 100));
    }
    beyond += selected_split_p(largest, 100, 3) < 0.05 ? 1 : 0;
  }
  EXPECT_LE(beyond, 0.05 * kSeries);  // the continuous bound is a little above the truth
  EXPECT_GE(beyond, 0.02 * kSeries);
}

TEST(Cusum, FlagsAShiftWithinAFewRunsAndSaysSinceWhen) {
  Cusum cusum;
  for (int i = 0; i < 100; ++i) cusum.add(i % 2 == 0 ? 0.5 : -0.5);
  EXPECT_FALSE(cusum.alarm_since());
  for (int i = 0; i < 3; ++i) cusum.add(4);
  ASSERT_TRUE(cusum.alarm_since());
  EXPECT_EQ(*cusum.alarm_since(), 100U);
}

TEST(Spread, ADoubledSpreadIsFoundAndAnEqualOneIsNot) {
  auto residuals = null_series(Null::kGaussian, 120, 5);
  for (double& v : residuals) v -= 100;
  const Noise noise{.scale = 1, .raw_scale = 1};
  EXPECT_TRUE(find_spread_changes(residuals, noise).empty());
  for (std::size_t i = 70; i < residuals.size(); ++i) residuals[i] *= 5;
  const auto found = find_spread_changes(residuals, noise);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(static_cast<double>(found[0].index), 70, 5);
}

}  // namespace
}  // namespace railgauge::analysis
