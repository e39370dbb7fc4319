#include "controller/detect/drift.h"

#include <cmath>

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

constexpr Noise kUnit{.scale = 1, .raw_scale = 1};

// Penalty and least step for noise of deviation 1.
MovementSettings settings_for(std::size_t runs) {
  return {.penalty = 4 + 2.4 * std::log(static_cast<double>(runs)), .least_step = 0.8};
}

Movement movement_of(const std::vector<double>& values) {
  return find_movement(values, kUnit, settings_for(values.size()));
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
  ASSERT_EQ(movement.curve.size(), 160U);
  EXPECT_EQ(movement.curve.front(), 0);
  EXPECT_NEAR(movement.curve.back(), drift.after - drift.before, 1e-9);
}

TEST(Drift, ACurveOfManyLinesIsOneDrift) {
  std::vector<double> values = null_series(Null::kGaussian, 200, 6);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += 60 * std::pow(static_cast<double>(i) / 199, 2);
  const Movement movement = movement_of(values);
  ASSERT_EQ(movement.drifts.size(), 1U);
  EXPECT_NEAR(movement.drifts[0].after - movement.drifts[0].before, 60, 3);
}

TEST(Drift, AStepInsideOfATrendIsNoPartOfIt) {
  std::vector<double> values = ramp(120, 0, 119, 24);
  for (std::size_t i = 70; i < values.size(); ++i) values[i] -= 8;
  const Movement movement = movement_of(values);
  ASSERT_EQ(movement.drifts.size(), 1U);
  EXPECT_NEAR(movement.drifts[0].after - movement.drifts[0].before, 24, 2);
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

TEST(Drift, LevelsWithStepsHaveNone) {
  std::vector<double> values = null_series(Null::kGaussian, 150, 7);
  for (std::size_t i = 50; i < values.size(); ++i) values[i] += i < 100 ? 5 : 10;
  EXPECT_TRUE(movement_of(values).drifts.empty());
}

TEST(Drift, FewValuesHaveNone) {
  for (std::size_t runs = 0; runs < 12; ++runs) {
    std::vector<double> values(runs);
    for (std::size_t i = 0; i < runs; ++i) values[i] = 10 * static_cast<double>(i);
    EXPECT_TRUE(find_movement(values, kUnit, settings_for(12)).drifts.empty()) << runs;
  }
}

TEST(Drift, OnlySlopesAndStairsCallForTheSearch) {
  const std::vector<double> quiet = null_series(Null::kGaussian, 90, 8);
  EXPECT_FALSE(may_move(quiet, std::vector<std::size_t>{0, 90}, kUnit));
  EXPECT_TRUE(may_move(ramp(90, 0, 89, 8), std::vector<std::size_t>{0, 90}, kUnit));
  std::vector<double> stairs = quiet;
  for (std::size_t i = 30; i < stairs.size(); ++i) stairs[i] += i < 60 ? 5 : 10;
  EXPECT_TRUE(may_move(stairs, std::vector<std::size_t>{0, 30, 60, 90}, kUnit));
  for (std::size_t i = 60; i < stairs.size(); ++i) stairs[i] -= 10;
  EXPECT_FALSE(may_move(stairs, std::vector<std::size_t>{0, 30, 60, 90}, kUnit));
}

}  // namespace
}  // namespace railgauge::analysis
