// Noise by kind: its size, its shape, how it moves in time and what moves together. Synthetic.
#include "agent/fleet/model/noise.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

constexpr Nanoseconds kHourNs = 3'600'000'000'000;
constexpr int kDraws = 4'000;

Scenario noisy(const std::string& keys, const std::string& more = "") {
  auto read = read_scenario(
      fmt::format("version: 1\nmetadata: {{name: t}}\nfabric: {{nodes: 32, leaves: 2}}\n"
                  "noise:\n  - {{{}}}\n{}",
                  keys, more),
      "t.yaml");
  EXPECT_TRUE(read) << read.error().message;
  return read ? *read : Scenario{};
}

NoisyFigure figure(Nanoseconds time, std::uint64_t series = 1, std::uint32_t node = 0) {
  return {.kernel = "verbs.write_lat",
          .node = node,
          .series = DrawKey(9).with(series),
          .time_ns = time};
}

// The shares by which the factors differ from 1.
std::vector<double> over_time(const Scenario& scenario, Nanoseconds step = kHourNs,
                              std::uint64_t series = 1, std::uint32_t node = 0) {
  std::vector<double> out;
  for (int i = 0; i < kDraws; ++i)
    out.push_back(noise_factor(scenario, figure(i * step, series, node)) - 1);
  return out;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Correlation of two series, the second one `lag` later.
double correlation(const std::vector<double>& a, const std::vector<double>& b, std::size_t lag) {
  const double mean_a = mean(a);
  const double mean_b = mean(b);
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i + lag < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i + lag] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i + lag] - mean_b) * (b[i + lag] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

double deviation(const std::vector<double>& values) {
  double sum = 0;
  for (const double each : values) sum += (each - mean(values)) * (each - mean(values));
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double skewness(const std::vector<double>& values) {
  const double centre = mean(values);
  const double sd = deviation(values);
  double sum = 0;
  for (const double each : values) sum += std::pow((each - centre) / sd, 3);
  return sum / static_cast<double>(values.size());
}

TEST(Noise, GaussianHasItsSizeNoSkewAndNoMemory) {
  const auto draws = over_time(noisy("kind: gaussian, size: 0.02"));
  EXPECT_NEAR(mean(draws), 0, 0.001);
  EXPECT_NEAR(deviation(draws), 0.02, 0.001);
  EXPECT_NEAR(skewness(draws), 0, 0.15);
  EXPECT_NEAR(correlation(draws, draws, 1), 0, 0.05);
}

TEST(Noise, SkewIsToTheSlowSideAlone) {
  const auto draws = over_time(noisy("kind: skew, size: 0.02"));
  EXPECT_GE(std::ranges::min(draws), 0);
  EXPECT_NEAR(mean(draws), 0.02, 0.001);
  EXPECT_GT(skewness(draws), 1.5);
}

TEST(Noise, CorrelatedNoiseKeepsItsSizeAndForgetsAfterTwoSpans) {
  const auto draws = over_time(noisy("kind: correlated, size: 0.02, span: 10h"));
  EXPECT_NEAR(deviation(draws), 0.02, 0.002);
  EXPECT_GT(correlation(draws, draws, 1), 0.9);
  EXPECT_GT(correlation(draws, draws, 5), 0.4);
  EXPECT_NEAR(correlation(draws, draws, 25), 0, 0.15);
}

TEST(Noise, ModesAreTwoLevelsThatEachHoldForASpan) {
  const auto draws = over_time(noisy("kind: modes, size: 0.1, share: 0.25, span: 8h"));
  const auto slow = std::ranges::count_if(draws, [](double x) { return x > 0.05; });
  EXPECT_NEAR(static_cast<double>(slow) / kDraws, 0.25, 0.06);
  for (const double each : draws) EXPECT_TRUE(each == 0 || std::abs(each - 0.1) < 1e-12);
  for (std::size_t i = 0; i + 8 < draws.size(); i += 8)
    EXPECT_TRUE(std::equal(draws.begin() + static_cast<std::ptrdiff_t>(i + 1),
                           draws.begin() + static_cast<std::ptrdiff_t>(i + 8),
                           draws.begin() + static_cast<std::ptrdiff_t>(i)));
}

TEST(Noise, SpikesAreRareAndAlone) {
  const auto draws = over_time(noisy("kind: spikes, size: 0.5, share: 0.02"));
  EXPECT_NEAR(static_cast<double>(std::ranges::count(draws, 0.5)) / kDraws, 0.02, 0.01);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(draws, 0.0)) / kDraws, 0.98, 0.01);
}

TEST(Noise, ADriftIsALine) {
  const auto draws = over_time(noisy("kind: drift, size: 0.1, span: 100d"), 24 * kHourNs);
  EXPECT_NEAR(draws[50], 0.05, 1e-12);
  EXPECT_NEAR(draws[100], 0.1, 1e-12);
  EXPECT_NEAR(over_time(noisy("kind: drift, size: -0.1, span: 100d"), 24 * kHourNs)[50], -0.05,
              1e-12);
}

TEST(Noise, QuantisedFiguresAreWholeSteps) {
  const Scenario scenario = noisy("kind: quantised, size: 0.05");
  EXPECT_DOUBLE_EQ(quantised(scenario, figure(0), 1'012, 1'000), 1'000);
  EXPECT_DOUBLE_EQ(quantised(scenario, figure(0), 1'031, 1'000), 1'050);
  EXPECT_DOUBLE_EQ(quantised(scenario, figure(0), 3, 1'000), 50);
  EXPECT_EQ(noise_factor(scenario, figure(0)), 1);
}

TEST(Noise, FiguresThatShareADrawMoveTogether) {
  const auto apart = [](const char* among, std::uint64_t series, std::uint32_t node) {
    const Scenario scenario = noisy(fmt::format("kind: gaussian, size: 0.02, among: {}", among));
    return correlation(over_time(scenario), over_time(scenario, kHourNs, series, node), 0);
  };
  EXPECT_NEAR(apart("series", 2, 0), 0, 0.05);
  EXPECT_NEAR(apart("node", 2, 0), 1, 1e-9);
  EXPECT_NEAR(apart("node", 1, 1), 0, 0.05);
  EXPECT_NEAR(apart("leaf", 2, 15), 1, 1e-9);
  EXPECT_NEAR(apart("leaf", 1, 16), 0, 0.05);
  EXPECT_NEAR(apart("fabric", 2, 31), 1, 1e-9);
}

TEST(Noise, ActsOnItsNodesAndKernelsAlone) {
  const Scenario nodes = noisy("kind: skew, size: 0.02, nodes: sim0002");
  EXPECT_EQ(noise_factor(nodes, figure(0, 1, 0)), 1);
  EXPECT_GT(noise_factor(nodes, figure(0, 1, 1)), 1);
  EXPECT_EQ(noise_factor(noisy("kind: skew, size: 0.02, kernels: [nccl]"), figure(0)), 1);
}

TEST(Noise, GrowsByDay) {
  const Scenario scenario =
      noisy("kind: gaussian, size: 0.01", "day: {from: 7h, to: 19h, noise: 3}\n");
  std::vector<double> day;
  std::vector<double> night;
  const auto draws = over_time(scenario);
  for (std::size_t hour = 0; hour < draws.size(); ++hour)
    (hour % 24 >= 7 && hour % 24 < 19 ? day : night).push_back(draws[hour]);
  EXPECT_NEAR(deviation(day) / deviation(night), 3, 0.2);
}

TEST(Noise, ADayMayCrossMidnight) {
  Scenario scenario;
  scenario.day = Day{.from_ns = 20 * kHourNs, .to_ns = 6 * kHourNs};
  std::set<int> day;
  for (int hour = 0; hour < 24; ++hour)
    if (is_day(scenario, hour * kHourNs)) day.insert(hour);
  EXPECT_EQ(day, (std::set<int>{0, 1, 2, 3, 4, 5, 20, 21, 22, 23}));
}

}  // namespace
}  // namespace railgauge::fleet
