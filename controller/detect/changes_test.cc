#include "controller/detect/changes.h"

#include <cmath>

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

std::vector<double> noise(std::size_t runs, std::uint64_t seed = 3) {
  return null_series(Null::kGaussian, runs, seed);
}

TEST(Changes, AStepIsToldWithPlaceSizeAndInterval) {
  auto values = noise(120);
  for (std::size_t i = 70; i < values.size(); ++i) values[i] *= 1.05;
  const Findings found = detect_changes(values, {});
  ASSERT_EQ(found.changes.size(), 1U);
  const Change& change = found.changes[0];
  EXPECT_EQ(change.kind, ChangeKind::kStep);
  EXPECT_NEAR(static_cast<double>(change.index), 70, 1);
  EXPECT_LE(change.first, change.index);
  EXPECT_GE(change.last, change.index);
  EXPECT_NEAR(change.effect, 0.05, 0.006);
  EXPECT_LT(change.effect_low, 0.05);
  EXPECT_GT(change.effect_high, 0.05);
  EXPECT_LT(change.p, 1e-3);
}

TEST(Changes, AStepAndItsEndAreTwoSteps) {
  auto values = noise(150);
  for (std::size_t i = 50; i < 90; ++i) values[i] -= 8;
  const Findings found = detect_changes(values, {});
  ASSERT_EQ(found.changes.size(), 2U);
  EXPECT_EQ(found.changes[0].kind, ChangeKind::kStep);
  EXPECT_EQ(found.changes[1].kind, ChangeKind::kStep);
  EXPECT_LT(found.changes[0].effect, 0);
  EXPECT_GT(found.changes[1].effect, 0);
}

TEST(Changes, ASpikeIsNoStep) {
  auto values = noise(100);
  values[40] += 30;
  values[60] += 30;
  values[61] += 30;
  const Findings found = detect_changes(values, {});
  EXPECT_TRUE(found.changes.empty());
  ASSERT_EQ(found.spikes.size(), 3U);
  EXPECT_EQ(found.spikes[0].index, 40U);
  EXPECT_NEAR(found.spikes[0].expected, 100, 1);
}

TEST(Changes, SpikesThatFallTogetherAmongManyAreNoStep) {
  auto values = noise(200);
  for (const std::size_t i : {10U, 31U, 50U, 77U, 90U, 121U, 140U, 163U, 180U}) values[i] += 15;
  for (const std::size_t i : {100U, 102U, 103U}) values[i] += 15;
  EXPECT_TRUE(detect_changes(values, {}).changes.empty());
}

TEST(Changes, ASlowMovementIsADriftAndNotStairs) {
  auto values = noise(160);
  for (std::size_t i = 60; i < values.size(); ++i) values[i] += 0.15 * static_cast<double>(i - 60);
  const Findings found = detect_changes(values, {});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_EQ(found.changes[0].kind, ChangeKind::kDrift);
  EXPECT_NEAR(static_cast<double>(found.changes[0].index), 60, 12);
  EXPECT_NEAR(found.changes[0].effect, 0.15, 0.03);
}

TEST(Changes, AnEvenLineWithoutNoiseIsOneDrift) {
  for (const std::size_t runs : {12U, 24U, 60U, 200U}) {
    std::vector<double> values;
    for (std::size_t i = 0; i < runs; ++i) values.push_back(1 + 0.1 * static_cast<double>(i));
    const Findings found = detect_changes(values, {});
    ASSERT_EQ(found.changes.size(), 1U) << runs;
    const Change& drift = found.changes[0];
    EXPECT_EQ(drift.kind, ChangeKind::kDrift) << runs;
    EXPECT_EQ(drift.index, 0U) << runs;
    EXPECT_EQ(drift.last, runs - 1) << runs;
    EXPECT_NEAR(drift.before, 1, 0.1) << runs;
    EXPECT_NEAR(drift.after, values.back(), 0.12 * values.back()) << runs;
    EXPECT_TRUE(found.spikes.empty()) << runs;
  }
}

TEST(Changes, AStepInsideOfATrendIsReportedBesideTheDrift) {
  auto values = noise(150);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += 0.2 * static_cast<double>(i) + (i >= 90 ? 8 : 0);
  const Findings found = detect_changes(values, {});
  ASSERT_EQ(found.changes.size(), 2U);
  EXPECT_EQ(found.changes[0].kind, ChangeKind::kDrift);
  EXPECT_EQ(found.changes[1].kind, ChangeKind::kStep);
  EXPECT_NEAR(static_cast<double>(found.changes[1].index), 90, 1);
  EXPECT_NEAR(found.changes[1].before, 118, 1.5);
  EXPECT_NEAR(found.changes[1].after, 126, 1.5);
}

TEST(Changes, LevelsThatAlternateMoveTogether) {
  for (const std::size_t half : {6U, 8U, 12U, 15U, 20U}) {
    std::vector<double> values;
    for (std::size_t i = 0; i < half; ++i) values.push_back(1 + static_cast<double>(i % 2));
    for (std::size_t i = 0; i < half; ++i) values.push_back(2 + static_cast<double>(i % 2));
    const Findings found = detect_changes(values, {});
    ASSERT_EQ(found.changes.size(), 1U) << half;
    EXPECT_EQ(found.changes[0].kind, ChangeKind::kStep) << half;
    EXPECT_NEAR(static_cast<double>(found.changes[0].index), static_cast<double>(half), 1) << half;
  }
}

TEST(Changes, AWeekHidesNoStep) {
  auto values = noise(140);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += (i % 7 >= 5 ? -6 : 0) + (i >= 80 ? 3 : 0);
  const Findings found = detect_changes(values, {});
  EXPECT_EQ(found.cycle_runs, 7U);
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_NEAR(static_cast<double>(found.changes[0].index), 80, 2);
  EXPECT_NEAR(found.changes[0].effect, 0.03, 0.008);
}

TEST(Changes, AWiderSpreadIsAVarianceChange) {
  auto values = noise(160);
  for (std::size_t i = 90; i < values.size(); ++i) values[i] = 100 + 4 * (values[i] - 100);
  const Findings found = detect_changes(values, {});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_EQ(found.changes[0].kind, ChangeKind::kVariance);
  EXPECT_NEAR(static_cast<double>(found.changes[0].index), 90, 4);
}

TEST(Changes, LevelsThatComeBackAreAMixOfModes) {
  auto values = noise(200);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i / 40 % 2 == 1) values[i] += 10;
  const Findings found = detect_changes(values, {});
  ASSERT_GE(found.changes.size(), 3U);
  for (const Change& change : found.changes) EXPECT_EQ(change.kind, ChangeKind::kModeMix);
}

TEST(Changes, ARegularSwingIsNoChange) {
  auto values = noise(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += i / 15 % 2 == 1 ? 5 : 0;
  const Findings found = detect_changes(values, {});
  EXPECT_NEAR(static_cast<double>(found.cycle_runs), 30, 2);
  EXPECT_TRUE(found.changes.empty());
}

TEST(Changes, AModeThatIsHeldMoreOftenIsAMixOfModes) {
  Chance chance(5);
  std::vector<double> values(240);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 100 + 0.5 * chance.normal() + (chance.uniform() < (i < 120 ? 0.2 : 0.85) ? 5 : 0);
  const Findings found = detect_changes(values, {});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_EQ(found.changes[0].kind, ChangeKind::kModeMix);
  EXPECT_NEAR(static_cast<double>(found.changes[0].index), 120, 8);
}

TEST(Changes, AStepBelowHalfThePracticalBoundIsNotTold) {
  auto values = noise(200);
  for (double& v : values) v = 100 + 0.1 * (v - 100);
  for (std::size_t i = 100; i < values.size(); ++i) values[i] += 0.4;
  EXPECT_EQ(detect_changes(values, {}).changes.size(), 1U);
  EXPECT_TRUE(detect_changes(values, {.delta = 0.01}).changes.empty());
}

TEST(Changes, AYoungShiftIsSuspectedBeforeItIsPlaced) {
  auto values = noise(82);
  values[80] += 7;
  values[81] += 7;
  const Findings found = detect_changes(values, {});
  EXPECT_TRUE(found.changes.empty());
  ASSERT_TRUE(found.suspected_since);
  EXPECT_EQ(*found.suspected_since, 80U);
}

TEST(Changes, MissingRunsKeepTheirPlace) {
  auto values = noise(120);
  for (std::size_t i = 70; i < values.size(); ++i) values[i] += 10;
  for (const std::size_t i : {3U, 4U, 30U, 55U}) values[i] = std::nan("");
  const Findings found = detect_changes(values, {});
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_EQ(found.changes[0].index, 70U);
  EXPECT_EQ(found.runs, 116U);
}

TEST(Changes, TheOppositeSeriesHasTheOppositeChanges) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    auto values = noise(100, seed);
    for (std::size_t i = 60; i < values.size(); ++i) values[i] *= 1.03;
    std::vector<double> inverse;
    for (const double v : values) inverse.push_back(1 / v);
    const Findings one = detect_changes(values, {});
    const Findings other = detect_changes(inverse, {});
    ASSERT_EQ(one.changes.size(), other.changes.size()) << seed;
    for (std::size_t k = 0; k < one.changes.size(); ++k)
      EXPECT_EQ(one.changes[k].index, other.changes[k].index) << seed;
  }
}

TEST(Changes, UnitsDoNotMatter) {
  auto values = noise(100);
  for (std::size_t i = 60; i < values.size(); ++i) values[i] *= 1.05;
  const Findings one = detect_changes(values, {});
  for (double& v : values) v *= 1e9;
  const Findings other = detect_changes(values, {});
  ASSERT_EQ(one.changes.size(), other.changes.size());
  ASSERT_FALSE(one.changes.empty());
  EXPECT_EQ(one.changes[0].index, other.changes[0].index);
  EXPECT_NEAR(one.changes[0].effect, other.changes[0].effect, 1e-9);
}

}  // namespace
}  // namespace railgauge::analysis
