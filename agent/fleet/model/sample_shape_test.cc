// Statistics of a modelled task: those that its samples bound, in order, and with honest intervals.
// Synthetic.
#include "agent/fleet/model/sample_shape.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/core/stats/stats.h"

namespace railgauge::fleet {
namespace {

constexpr double kFigure = 1'800;

Point filled(const SampleShape& shape, std::uint64_t draw = 0) {
  Point point;
  fill_statistics(shape, DrawKey(3).with(draw), point);
  return point;
}

Point latency(double count) { return filled({.figure = kFigure, .spread = 0.02, .count = count}); }

Point rate(double seconds, double pauses = 0, double pause_ns = 0) {
  return filled({.figure = 1e9,
                 .is_rate = true,
                 .count = seconds * 1'000,
                 .measure_ns = seconds * 1e9,
                 .pauses = pauses,
                 .pause_ns = pause_ns});
}

TEST(SampleShape, APercentileThatTooFewSamplesBoundIsAbsent) {
  EXPECT_FALSE(latency(43).has_p90());
  EXPECT_TRUE(latency(44).has_p90());
  EXPECT_FALSE(latency(458).has_p99());
  EXPECT_TRUE(latency(459).has_p99());
  EXPECT_FALSE(latency(4'602).has_p999());
  EXPECT_TRUE(latency(4'603).has_p999());
  EXPECT_FALSE(latency(7).has_median_low());
  EXPECT_FALSE(rate(0.4).has_slot_p10());
  EXPECT_TRUE(rate(0.5).has_slot_p10());
  EXPECT_FALSE(rate(4).has_slot_p1());
  EXPECT_TRUE(rate(5).has_slot_p1());
}

TEST(SampleShape, StatisticsAreInOrderAndTheHistogramHasEverySample) {
  const Point full = latency(20'000);
  const std::vector<double> order{full.min(),      full.p25(),         full.median_low(),
                                  full.median(),   full.median_high(), full.p75(),
                                  full.p90(),      full.p99_low(),     full.p99(),
                                  full.p99_high(), full.p999(),        full.max()};
  EXPECT_TRUE(std::ranges::is_sorted(order));
  double count = 0;
  for (const double each : full.histogram().count()) count += each;
  EXPECT_EQ(count, 20'000);
  EXPECT_TRUE(std::ranges::is_sorted(full.histogram().lower_bound()));
}

TEST(SampleShape, ALatencysTailIsTheSlowSideAndARatesTheLowOne) {
  const Point slow = latency(20'000);
  EXPECT_GT(slow.max() - slow.median(), 1.5 * (slow.median() - slow.min()));
  const Point low = rate(10);
  EXPECT_GT(low.median() - low.min(), 1.5 * (low.max() - low.median()));
}

// Raw samples are drawn from the distribution whose statistics the point has.
TEST(SampleShape, RawSamplesHaveTheStatisticsOfThePoint) {
  const Point point =
      filled({.figure = kFigure, .spread = 0.02, .count = 20'000, .raw_samples = true});
  std::vector<double> samples(point.samples().begin(), point.samples().end());
  ASSERT_EQ(samples.size(), 20'000U);
  std::ranges::sort(samples);
  EXPECT_NEAR(quantile_sorted(samples, 0.5), point.median(), 2);
  EXPECT_NEAR(quantile_sorted(samples, 0.99), point.p99(), 5);
  EXPECT_NEAR(quantile_sorted(samples, 0.25), point.p25(), 2);
  EXPECT_TRUE(latency(100).samples().empty());
}

TEST(SampleShape, IntervalsCoverTheFigureAsOftenAsTheySay) {
  constexpr int kTasks = 4'000;
  int median = 0;
  int over_time = 0;
  for (std::uint64_t i = 0; i < kTasks; ++i) {
    const Point a = filled({.figure = kFigure, .spread = 0.02}, i);
    median += a.median_low() <= kFigure && kFigure <= a.median_high() ? 1 : 0;
    const Point b = filled({.figure = 1e9, .is_rate = true, .count = 2'000, .measure_ns = 2e9}, i);
    over_time += b.rate_low() <= 1e9 && 1e9 <= b.rate_high() ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(median) / kTasks, 0.95, 0.015);
  EXPECT_NEAR(static_cast<double>(over_time) / kTasks, 0.95, 0.03);
}

// The pace between pauses is unchanged, so that only the rate over all time and low slots show
// them.
TEST(SampleShape, PausesLowerTheRateAndItsSlotsAndLeaveTheMedian) {
  const Point right = rate(10);
  const Point stalled = rate(10, 20, 100e6);
  EXPECT_DOUBLE_EQ(stalled.median(), right.median());
  EXPECT_NEAR(stalled.rate() / right.rate(), 0.8, 0.01);
  EXPECT_NEAR(stalled.pause_share(), 0.2, 0.005);
  EXPECT_DOUBLE_EQ(stalled.longest_pause_ns(), 100e6);
  EXPECT_EQ(stalled.slot_p10(), 0);
  EXPECT_LT(right.pause_share(), 0.005);
  // A fifth of the slots has a pause of half a slot.
  const Point shorter = rate(10, 200, 5e6);
  EXPECT_NEAR(shorter.slot_p10() / right.median(), 0.5, 0.01);
  // Shorter than any pause: the rate alone has it.
  const Point tiny = rate(10, 1'000, 0.5e6);
  EXPECT_LT(tiny.longest_pause_ns(), 5e6);
  EXPECT_NEAR(tiny.rate() / right.rate(), 0.95, 0.01);
}

// The flow of two sides differs by chance, and so has an interval.
TEST(SampleShape, AHealthyRateHasShortPausesThatVary) {
  double sum = 0;
  std::set<double> shares;
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const Point point =
        filled({.figure = 1e9, .is_rate = true, .count = 2'000, .measure_ns = 2e9}, i);
    shares.insert(point.pause_share());
    sum += point.pause_share();
    EXPECT_LT(point.pause_share(), 0.01) << "within the bound of the flow";
    EXPECT_LE(point.longest_pause_ns(), point.pause_share() * point.measure_ns() + 1);
    EXPECT_EQ(point.longest_pause_ns() > 0, point.pause_share() > 0);
  }
  EXPECT_GT(shares.size(), 100U);
  EXPECT_NEAR(sum / 1'000, 0.0004, 0.0002);
}

TEST(SampleShape, APauseOfALatencyIsInItsSlowestSamples) {
  const Point point =
      filled({.figure = kFigure, .spread = 0.02, .count = 10'000, .pauses = 30, .pause_ns = 100e6});
  EXPECT_GT(point.p999(), 100e6);
  EXPECT_LT(point.p99(), 1.2 * kFigure);
  EXPECT_NEAR(point.mean() - point.median(), 0.003 * 100e6, 1);
}

}  // namespace
}  // namespace railgauge::fleet
