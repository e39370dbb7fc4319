#include "kernels/core/stats/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

std::vector<double> ascending(std::size_t n) {
  std::vector<double> out(n);
  std::iota(out.begin(), out.end(), 1.0);
  return out;
}

std::vector<double> sorted(std::vector<double> values) {
  std::ranges::sort(values);
  return values;
}

std::vector<double> independent(std::size_t n, std::mt19937_64& random) {
  std::lognormal_distribution<double> latency(0, 0.5);
  std::vector<double> out(n);
  for (double& x : out) x = latency(random);
  return out;
}

// Stationary AR(1) with unit variance; its median is 0.
std::vector<double> autoregressive(std::size_t n, double rho, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> out(n);
  double x = noise(random);
  for (double& value : out) {
    value = x;
    x = rho * x + std::sqrt(1 - rho * rho) * noise(random);
  }
  return out;
}

// P(binomial(n, 1/2) <= k) by Pascal's rule: another way than the one under test.
std::vector<double> cumulative_half_binomial(int n) {
  std::vector<double> row{1};
  for (int i = 0; i < n; ++i) {
    std::vector<double> next(row.size() + 1, 0);
    for (std::size_t k = 0; k < row.size(); ++k) {
      next[k] += row[k] / 2;
      next[k + 1] += row[k] / 2;
    }
    row = std::move(next);
  }
  std::partial_sum(row.begin(), row.end(), row.begin());
  return row;
}

TEST(Quantile, InterpolatesAsTypeSeven) {
  const std::vector<double> values{1, 2, 3, 4};
  EXPECT_EQ(quantile_sorted(values, 0), 1);
  EXPECT_EQ(quantile_sorted(values, 1), 4);
  EXPECT_EQ(quantile_sorted(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile_sorted(values, 0.9), 3.7);
  EXPECT_EQ(quantile_sorted(std::vector<double>{7}, 0.3), 7);
}

// Two copies of a GB, in one second and in four: two in five seconds.
TEST(RateOverAllTime, IsAllAmountsOverAllTime) {
  EXPECT_DOUBLE_EQ(rate_over_all_time(std::vector{1e9, 0.25e9}), 0.4e9);
  EXPECT_DOUBLE_EQ(rate_over_all_time(std::vector{7.0}), 7);
}

TEST(MedianInterval, IsTheTightestPairOfRanksWithCoverageOf95Percent) {
  for (int n = 6; n <= 1000; n = n < 100 ? n + 1 : n + 37) {
    const auto values = ascending(static_cast<std::size_t>(n));
    const auto interval = median_interval_sorted(values, n);
    ASSERT_TRUE(interval) << n;
    const auto rank = static_cast<std::size_t>(interval->low);
    ASSERT_EQ(interval->high, n + 1 - interval->low) << n;
    const auto cumulative = cumulative_half_binomial(n);
    ASSERT_GE(1 - 2 * cumulative[rank - 1], 0.95 - 1e-12) << n;
    ASSERT_LT(1 - 2 * cumulative[rank], 0.95) << n << " could be tighter";
  }
}

TEST(MedianInterval, IsAbsentBelowSixEffectiveSamples) {
  EXPECT_FALSE(median_interval_sorted(ascending(5), 5));
  EXPECT_TRUE(median_interval_sorted(ascending(6), 6));
  EXPECT_FALSE(median_interval_sorted(ascending(1000), 5.9));
  EXPECT_FALSE(median_interval_sorted({}, 100));
  EXPECT_FALSE(median_interval_sorted(ascending(10), std::numeric_limits<double>::quiet_NaN()));
}

TEST(MedianInterval, FewerEffectiveSamplesNeverNarrowIt) {
  const auto values = ascending(500);
  double width = 0;
  for (double effective = 500; effective >= 6; effective -= 0.5) {
    const auto interval = median_interval_sorted(values, effective);
    ASSERT_TRUE(interval);
    // Ranks are whole: each moves in steps of the effective samples.
    ASSERT_GE(interval->high - interval->low, width - 4 * 500 / effective) << effective;
    width = std::max(width, interval->high - interval->low);
  }
}

TEST(MedianInterval, HandlesAMillionSamples) {
  const auto values = ascending(1'000'000);
  const auto interval = median_interval_sorted(values, 1e6);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 500'000 - 980, 2);  // the normal's limit: 1.96 * sqrt(n) / 2
}

double coverage(std::size_t n, double rho, int launches) {
  std::mt19937_64 random(20'240'607);
  int held = 0;
  for (int i = 0; i < launches; ++i) {
    const auto values = autoregressive(n, rho, random);
    const auto interval = estimate_median(values).interval;
    held += interval && interval->low <= 0 && interval->high >= 0 ? 1 : 0;
  }
  return static_cast<double>(held) / launches;
}

TEST(MedianInterval, HoldsTheTrueMedianForIndependentSamples) {
  EXPECT_GE(coverage(200, 0, 2000), 0.93);
  EXPECT_GE(coverage(1000, 0, 1000), 0.93);
}

TEST(MedianInterval, HoldsTheTrueMedianForDependentSamples) {
  EXPECT_GE(coverage(2000, 0.5, 500), 0.95);
  EXPECT_GE(coverage(2000, 0.9, 500), 0.95);
  EXPECT_GE(coverage(2000, 0.98, 300), 0.93);  // 20 effective samples
}

TEST(SamplesNeeded, IsTheBinomialBound) {
  EXPECT_EQ(samples_needed(0.99), 459U);
  EXPECT_EQ(samples_needed(0.999), 4603U);
  EXPECT_EQ(samples_needed(0.9), 44U);
  EXPECT_EQ(samples_needed(0.5), 7U);
}

TEST(Lag1, IsTheCorrelationOfNeighbours) {
  std::mt19937_64 random(3);
  EXPECT_NEAR(lag1_autocorrelation(autoregressive(50'000, 0.9, random)), 0.9, 0.02);
  EXPECT_NEAR(lag1_autocorrelation(autoregressive(50'000, 0, random)), 0, 0.02);
  EXPECT_NEAR(lag1_autocorrelation(autoregressive(50'000, -0.5, random)), -0.5, 0.02);
  EXPECT_EQ(lag1_autocorrelation(std::vector<double>(10, 4.2)), 0);
  EXPECT_EQ(lag1_autocorrelation(std::vector<double>{1}), 0);
  EXPECT_EQ(lag1_autocorrelation({}), 0);
}

TEST(EffectiveCount, IsCarefulForIndependentSamples) {
  std::mt19937_64 random(4);
  for (const std::size_t n : {100U, 1000U, 10'000U}) {
    constexpr int kDraws = 50;
    double sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double effective = effective_sample_count(independent(n, random));
      ASSERT_LE(effective, static_cast<double>(n));
      sum += effective / kDraws;
    }
    EXPECT_GE(sum, 0.25 * static_cast<double>(n)) << n;
  }
}

TEST(EffectiveCount, SeesAStepAndATrendAsLessThanASample) {
  std::vector<double> step(10'000, 1);
  std::fill(step.begin() + 5000, step.end(), 2);
  EXPECT_LT(effective_sample_count(step), 1);
  EXPECT_LT(effective_sample_count(ascending(10'000)), 1);
}

TEST(EffectiveCount, NeverExceedsTheCount) {
  std::vector<double> alternating(1000);
  for (std::size_t i = 0; i < alternating.size(); ++i) alternating[i] = i % 2 == 0 ? 1 : 2;
  EXPECT_LE(effective_sample_count(alternating), 1000);
  EXPECT_GE(effective_sample_count(alternating), 800);
  EXPECT_EQ(effective_sample_count(std::vector<double>(100, 3)), 100);
  EXPECT_EQ(effective_sample_count(std::vector<double>{1, 2}), 0) << "nothing is known";
  EXPECT_EQ(effective_sample_count({}), 0);
}

TEST(EstimateMedian, AgreesWithTheSortedForm) {
  std::mt19937_64 random(12);
  int compared = 0;
  for (std::size_t n = 1; n < 300; ++n) {
    const auto values = autoregressive(n, 0.3, random);
    const auto ordered = sorted(values);
    const MedianEstimate estimate = estimate_median(values);
    ASSERT_EQ(estimate.median, quantile_sorted(ordered, 0.5)) << n;
    ASSERT_EQ(estimate.effective_count, effective_sample_count(values)) << n;
    ASSERT_EQ(estimate.interval.has_value(), n >= 8) << n;
    const auto interval = median_interval_sorted(ordered, estimate.effective_count);
    if (!interval) continue;
    ++compared;
    ASSERT_EQ(estimate.interval->low, interval->low) << n;
    ASSERT_EQ(estimate.interval->high, interval->high) << n;
  }
  EXPECT_GT(compared, 200);
}

// Ten samples do not show their dependence, so their range is extended by up to sqrt(6).
TEST(EstimateMedian, ReachesBeyondTheRangeOfAFewSamples) {
  const std::vector<double> values{5, 1, 8, 3, 10, 2, 7, 4, 9, 6};
  const MedianEstimate estimate = estimate_median(values);
  ASSERT_TRUE(estimate.interval);
  EXPECT_LT(estimate.effective_count, 6);
  EXPECT_LT(estimate.interval->low, 1);
  EXPECT_GT(estimate.interval->high, 10);
  EXPECT_GE(estimate.interval->low, 5.5 - 4.5 * std::sqrt(6.0));
  EXPECT_FALSE(is_precise(values, 0, 10)) << "too few to be sure, however wide the bound";
}

// The line runs from 0 to 1 in the measured tenth of the time: its middle is at 5.
TEST(EstimateMedian, CoversTheWholeAllowedTimeOfATrend) {
  std::mt19937_64 random(13);
  std::normal_distribution<double> noise(0, 0.05);
  std::vector<double> values(1000);
  for (int i = 0; i < 1000; ++i) values[static_cast<std::size_t>(i)] = i / 1000.0 + noise(random);
  const auto interval = estimate_median(values, 10'000).interval;
  ASSERT_TRUE(interval);
  EXPECT_LE(interval->low, 5);
  EXPECT_GE(interval->high, 5);
  EXPECT_LE(estimate_median(values).interval->high, 2) << "the measured time alone";
}

TEST(EstimateMedian, WidensWithTheTimeThatWasNotMeasured) {
  std::mt19937_64 random(14);
  const auto values = autoregressive(1000, 0, random);
  double width = 0;
  for (const double allowed : {0.0, 1000.0, 1500.0, 2000.0, 10'000.0, 100'000.0}) {
    const auto interval = estimate_median(values, allowed).interval;
    ASSERT_GE(interval->high - interval->low, width) << allowed;
    width = interval->high - interval->low;
  }
  EXPECT_GT(width,
            100 * (estimate_median(values).interval->high - estimate_median(values).interval->low));
}

TEST(IsPrecise, AsksBothSidesOfTheMedianForTheShare) {
  std::mt19937_64 random(15);
  std::normal_distribution<double> noise(100, 1);
  std::vector<double> values(1000);
  for (double& value : values) value = noise(random);
  const MedianEstimate estimate = estimate_median(values);
  const double wider =
      std::max(estimate.interval->high - estimate.median, estimate.median - estimate.interval->low);
  EXPECT_TRUE(is_precise(values, 0, wider / estimate.median * 1.001));
  EXPECT_FALSE(is_precise(values, 0, wider / estimate.median * 0.999));
  EXPECT_FALSE(is_precise({}, 0, 1));
  EXPECT_FALSE(is_precise(std::vector<double>(100, 0), 0, 1)) << "no share of 0";
  EXPECT_TRUE(is_precise(std::vector<double>(8, 3), 0, 1e-9));
  EXPECT_FALSE(is_precise(std::vector<double>(7, 3), 0, 1e-9)) << "too few, even if equal";
}

TEST(QuantileInterval, HoldsTheTruePercentile) {
  std::mt19937_64 random(16);
  for (const auto& [q, n] : {std::pair{0.99, 1000U}, {0.99, 5000U}, {0.999, 5000U}}) {
    constexpr int kDraws = 300;
    int held = 0;
    for (int i = 0; i < kDraws; ++i) {
      std::vector<double> values(n);
      std::uniform_real_distribution<double> uniform(0, 1);
      for (double& value : values) value = uniform(random);
      std::ranges::sort(values);
      const auto interval = quantile_interval_sorted(values, q, n);
      ASSERT_TRUE(interval);
      held += interval->low <= q && q <= interval->high ? 1 : 0;
    }
    EXPECT_GE(held, 0.92 * kDraws) << q << ' ' << n;
    EXPECT_LE(held, 0.995 * kDraws) << q << ' ' << n << ": wider than it need be";
  }
}

TEST(QuantileInterval, IsAbsentWithoutASampleAboveThatBoundsIt) {
  const auto values = ascending(368);  // 0.99^368 = 0.0248
  EXPECT_TRUE(quantile_interval_sorted(values, 0.99, 368));
  EXPECT_FALSE(quantile_interval_sorted(values, 0.99, 366));
  EXPECT_FALSE(quantile_interval_sorted({}, 0.99, 0));
  EXPECT_TRUE(quantile_interval_sorted(ascending(1'000'000), 0.99, 1e6)) << "q^n underflows";
}

TEST(QuantileInterval, FewerEffectiveSamplesWidenIt) {
  const auto values = ascending(10'000);
  const auto all = quantile_interval_sorted(values, 0.99, 10'000);
  const auto few = quantile_interval_sorted(values, 0.99, 1000);
  ASSERT_TRUE(all && few);
  EXPECT_LT(few->low, all->low);
  EXPECT_GT(few->high, all->high);
}

TEST(HistogramOf, BucketsByThreeDigits) {
  const Histogram histogram =
      histogram_of(std::vector<double>{1234, 1230, 1239.9, 1240, 0.00123, 0.001239, 0, 7, 7.004});
  const std::vector<double> bounds(histogram.lower_bound().begin(), histogram.lower_bound().end());
  const std::vector<double> counts(histogram.count().begin(), histogram.count().end());
  EXPECT_EQ(bounds, (std::vector<double>{0, 0.00123, 7, 1230, 1240}));
  EXPECT_EQ(counts, (std::vector<double>{1, 2, 2, 3, 1}));
  EXPECT_EQ(histogram_of({}).count_size(), 0);
}

TEST(HistogramOf, KeepsEverySampleWithinOnePercent) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> exponent(-280, 300);
  std::uniform_int_distribution<int> sign(0, 1);
  std::vector<double> values;
  values.reserve(20'000);
  for (int i = 0; i < 20'000; ++i)
    values.push_back((sign(random) == 0 ? -1 : 1) * std::pow(10.0, exponent(random)));
  const Histogram histogram = histogram_of(values);
  double total = 0;
  for (const double count : histogram.count()) total += count;
  EXPECT_EQ(total, 20'000);
  std::ranges::sort(values);
  std::size_t at = 0;
  for (int i = 0; i < histogram.count_size(); ++i)
    for (int k = 0; k < static_cast<int>(histogram.count(i)); ++k, ++at) {
      ASSERT_LE(histogram.lower_bound(i), values[at]);
      ASSERT_LE(values[at] - histogram.lower_bound(i), 0.0101 * std::abs(values[at]));
    }
}

TEST(Summarize, FillsEverythingThatTheSamplesBound) {
  std::mt19937_64 random(8);
  const auto values = independent(5000, random);
  Point point;
  summarize(values, point);
  const auto ordered = sorted(values);
  EXPECT_EQ(point.sample_count(), 5000);
  EXPECT_EQ(point.min(), ordered.front());
  EXPECT_EQ(point.max(), ordered.back());
  EXPECT_LE(point.median_low(), point.median());
  EXPECT_GE(point.median_high(), point.median());
  EXPECT_EQ(point.p99(), quantile_sorted(ordered, 0.99));
  EXPECT_EQ(point.p999(), quantile_sorted(ordered, 0.999));
  EXPECT_LT(point.p99_low(), point.p99());
  EXPECT_GT(point.p99_high(), point.p99());
  EXPECT_LT(point.p999_low(), point.p999());
  EXPECT_GT(point.p999_high(), point.p999());
  EXPECT_LE(point.p25(), point.p75());
  EXPECT_NEAR(point.mean(), std::exp(0.125), 0.05);  // of this lognormal
  EXPECT_NEAR(point.stddev(), std::sqrt((std::exp(0.25) - 1) * std::exp(0.25)), 0.05);
  EXPECT_GT(point.histogram().count_size(), 50);
  EXPECT_EQ(point.samples_size(), 0);
}

TEST(Summarize, LeavesAbsentWhatTheSamplesCannotBound) {
  const auto with = [](std::size_t n) {
    Point point;
    std::mt19937_64 random(18);
    auto values = ascending(n);
    std::ranges::shuffle(values, random);
    summarize(values, point);
    return point;
  };
  EXPECT_TRUE(with(4603).has_p999());
  EXPECT_FALSE(with(4602).has_p999());
  EXPECT_TRUE(with(459).has_p99());
  EXPECT_FALSE(with(458).has_p99());
  EXPECT_TRUE(with(44).has_p90());
  EXPECT_FALSE(with(43).has_p90());
  EXPECT_TRUE(with(17).has_p25());
  EXPECT_FALSE(with(16).has_p75());
  EXPECT_FALSE(with(7).has_median_low());
  EXPECT_TRUE(with(2).has_stddev());
  EXPECT_FALSE(with(1).has_stddev());
  EXPECT_EQ(with(1).median(), 1);
  EXPECT_EQ(with(0).sample_count(), 0);
}

// 5,000 samples in runs of 20 equal ones are 250 values.
TEST(Summarize, CountsDependentSamplesOnceForAPercentile) {
  std::mt19937_64 random(19);
  const auto values = independent(250, random);
  std::vector<double> repeated;
  for (const double value : values) repeated.insert(repeated.end(), 20, value);
  Point point;
  summarize(repeated, point);
  EXPECT_TRUE(point.has_p90());
  EXPECT_FALSE(point.has_p99());
  EXPECT_FALSE(point.has_p99_low());
  EXPECT_FALSE(point.has_p999());
}

TEST(Summarize, WritesNoNanForEqualOrHugeValues) {
  for (const double value : {0.0, 3.5, -2.0, 1e140, 5e-324}) {
    Point point;
    summarize(std::vector<double>(100, value), point);
    EXPECT_EQ(point.median(), value);
    EXPECT_EQ(point.median_low(), value);
    EXPECT_EQ(point.lag1_autocorrelation(), 0);
    EXPECT_TRUE(std::isfinite(point.mean()));
    EXPECT_TRUE(std::isfinite(point.stddev()));
    EXPECT_EQ(point.histogram().count_size(), 1);
  }
}

TEST(SummarizeDeathTest, ASampleThatIsNoNumberStopsTheProcess) {
  Point point;
  EXPECT_DEATH(summarize(std::vector<double>{1, std::nan("")}, point), "CHECK failed");
}

// Few effective samples of a slow movement: the interval is wide, and its low end stays a time.
TEST(MedianEstimate, OfPositiveSamplesEndsAboveZero) {
  std::vector<double> values(200);
  for (int i = 0; i < 200; ++i)
    values[static_cast<std::size_t>(i)] = i < 90 ? 1 + 0.01 * i : 10 + 0.01 * i;
  const MedianEstimate estimate = estimate_median(values, 10'000);
  ASSERT_TRUE(estimate.interval);
  EXPECT_GT(estimate.interval->low, 0);
  EXPECT_LT(estimate.interval->low, estimate.median / 2);
  EXPECT_GT(estimate.interval->high, estimate.median);
}

}  // namespace
}  // namespace railgauge
