#include "controller/detect/drift.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

constexpr Noise kUnit{.scale = 1, .raw_scale = 1};

// Penalty and least step for noise of deviation 1.
MovementSettings settings_for(std::size_t runs) {
  return {.penalty = 4 + 2.4 * std::log(static_cast<double>(runs)), .least_step = 0.8};
}

// The places of runs without a gap.
std::vector<std::size_t> runs_of(std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

Movement movement_of(const std::vector<double>& values) {
  return find_movement(values, runs_of(values.size()), kUnit, settings_for(values.size()));
}

bool moves(const std::vector<double>& values, const std::vector<std::size_t>& bounds) {
  return may_move(values, runs_of(values.size()), bounds, kUnit,
                  settings_for(values.size()).penalty);
}

// Noise of deviation 1 about 100 that moves by `size` from run `begin` to run `end`.
std::vector<double> ramp(std::size_t runs, std::size_t begin, std::size_t end, double size) {
  std::vector<double> values = null_series(Null::kGaussian, runs, 5);
  for (std::size_t i = begin; i < runs; ++i)
    values[i] +=
        size * static_cast<double>(std::min(i, end) - begin) / static_cast<double>(end - begin);
  return values;
}

TEST(Drift, ARampHasBeginEndAndLevels) {
  const Movement movement = movement_of(ramp(160, 50, 110, 15));
  ASSERT_EQ(movement.drifts.size(), 1U);
  const Drift& drift = movement.drifts[0];
  EXPECT_NEAR(static_cast<double>(drift.begin), 50, 8);
  EXPECT_NEAR(static_cast<double>(drift.end), 110, 8);
  EXPECT_NEAR(drift.before, 100, 0.6);
  EXPECT_NEAR(drift.after, 115, 0.6);
  EXPECT_TRUE(movement.steps.empty());
  const std::vector<double> curve = curve_of(movement.drifts, runs_of(160));
  ASSERT_EQ(curve.size(), 160U);
  EXPECT_EQ(curve.front(), 0);
  EXPECT_NEAR(curve.back(), drift.moved(), 1e-9);
}

TEST(Drift, ACurveOfManyLinesIsOneDrift) {
  std::vector<double> values = null_series(Null::kGaussian, 200, 6);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += 60 * std::pow(static_cast<double>(i) / 199, 2);
  const Movement movement = movement_of(values);
  ASSERT_EQ(movement.drifts.size(), 1U);
  EXPECT_NEAR(movement.drifts[0].moved(), 60, 3);
}

TEST(Drift, AStepInsideOfATrendIsNoPartOfIt) {
  std::vector<double> values = ramp(120, 0, 119, 24);
  for (std::size_t i = 70; i < values.size(); ++i) values[i] -= 8;
  const Movement movement = movement_of(values);
  ASSERT_EQ(movement.drifts.size(), 1U);
  EXPECT_NEAR(movement.drifts[0].moved(), 24, 2);
  ASSERT_EQ(movement.steps.size(), 1U);
  EXPECT_NEAR(static_cast<double>(movement.steps[0]), 70, 2);
}

TEST(Drift, UpAndDownAreTwo) {
  std::vector<double> values = ramp(140, 0, 70, 20);
  for (std::size_t i = 70; i < values.size(); ++i)
    values[i] -= 20 * static_cast<double>(i - 70) / 69;
  const Movement movement = movement_of(values);
  ASSERT_EQ(movement.drifts.size(), 2U);
  EXPECT_GT(movement.drifts[0].after, movement.drifts[0].before);
  EXPECT_LT(movement.drifts[1].after, movement.drifts[1].before);
}

TEST(Drift, AMovementBackBelongsToItOnlyInBetween) {
  const auto path = [](const std::vector<double>& moves) {
    std::vector<double> values;
    double level = 100;
    std::vector<double> noise = null_series(Null::kGaussian, 40 * moves.size(), 11);
    for (const double move : moves)
      for (int i = 0; i < 40; ++i)
        values.push_back((level += move / 40) + 0.5 * (noise[values.size()] - 100));
    return movement_of(values).drifts;
  };
  const auto between = path({15, -5, 15});
  ASSERT_EQ(between.size(), 1U);
  EXPECT_NEAR(between[0].moved(), 25, 2);
  const auto end = path({15, -6});
  ASSERT_EQ(end.size(), 2U) << "the fall is the news";
  EXPECT_NEAR(end[0].moved(), 15, 2);
  EXPECT_NEAR(end[1].moved(), -6, 2);
  const auto begin = path({-6, 15});
  ASSERT_EQ(begin.size(), 2U);
  EXPECT_NEAR(begin[0].moved(), -6, 2);
}

TEST(Drift, ASlopeGoesOnThroughMissingRuns) {
  const std::vector<double> whole = ramp(160, 0, 159, 30);
  std::vector<double> values;
  std::vector<std::size_t> runs;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (i >= 60 && i < 90) continue;
    values.push_back(whole[i]);
    runs.push_back(i);
  }
  const Movement movement = find_movement(values, runs, kUnit, settings_for(values.size()));
  ASSERT_EQ(movement.drifts.size(), 1U);
  EXPECT_NEAR(movement.drifts[0].moved(), 30, 1.5);
  EXPECT_TRUE(movement.steps.empty());
  const std::vector<double> curve = curve_of(movement.drifts, runs);
  EXPECT_NEAR(curve[60] - curve[59], 31 * 30.0 / 159, 0.5);
}

TEST(Drift, ItsSpreadIsThatOfItsEnds) {
  const Movement line = movement_of(ramp(100, 0, 99, 40));
  ASSERT_EQ(line.drifts.size(), 1U);
  ASSERT_EQ(line.drifts[0].parts.size(), 1U);
  EXPECT_NEAR(line.drifts[0].spread, std::sqrt(12.0 / 100), 0.01) << "of one slope";
  std::vector<double> values = null_series(Null::kGaussian, 200, 6);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += 60 * std::pow(static_cast<double>(i) / 199, 2);
  const Movement curve = movement_of(values);
  ASSERT_EQ(curve.drifts.size(), 1U);
  ASSERT_GT(curve.drifts[0].parts.size(), 1U);
  EXPECT_GT(curve.drifts[0].spread, 1.15 * std::sqrt(12.0 / 200)) << "its end lines are shorter";
}

TEST(Drift, LevelsWithStepsHaveNone) {
  std::vector<double> values = null_series(Null::kGaussian, 150, 7);
  for (std::size_t i = 50; i < values.size(); ++i) values[i] += i < 100 ? 5 : 10;
  EXPECT_TRUE(movement_of(values).drifts.empty());
}

TEST(Drift, FewValuesHaveNone) {
  for (std::size_t runs = 0; runs < 12; ++runs) {
    std::vector<double> values(runs);
    for (std::size_t i = 0; i < runs; ++i) values[i] = 10 * static_cast<double>(i);
    EXPECT_TRUE(find_movement(values, runs_of(runs), kUnit, settings_for(12)).drifts.empty())
        << runs;
  }
}

TEST(Drift, OnlySlopesAndStairsCallForTheSearch) {
  const std::vector<double> quiet = null_series(Null::kGaussian, 90, 8);
  EXPECT_FALSE(moves(quiet, {0, 90}));
  EXPECT_TRUE(moves(ramp(90, 0, 89, 8), {0, 90}));
  EXPECT_TRUE(moves(ramp(90, 0, 89, 4), {0, 45, 90})) << "a line costs less than a step";
  std::vector<double> step = quiet;
  for (std::size_t i = 45; i < step.size(); ++i) step[i] += 3;
  EXPECT_FALSE(moves(step, {0, 45, 90}));
  std::vector<double> stairs = quiet;
  for (std::size_t i = 30; i < stairs.size(); ++i) stairs[i] += i < 60 ? 5 : 10;
  EXPECT_TRUE(moves(stairs, {0, 30, 60, 90}));
  for (std::size_t i = 60; i < stairs.size(); ++i) stairs[i] -= 10;
  EXPECT_FALSE(moves(stairs, {0, 30, 60, 90}));
}

}  // namespace
}  // namespace railgauge::analysis
