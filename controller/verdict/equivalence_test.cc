#include "controller/verdict/equivalence.h"

#include <array>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "controller/stats/permutation.h"
#include "controller/verdict/shift.h"
#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

TEST(Shift, FiveRunsASideHaveTheTabledInterval) {
  // Mann and Whitney, n = m = 5: P(U <= 2) = 0.0159, P(U <= 3) = 0.0278: two of 25 left out.
  const std::vector<double> before{100, 101, 102, 103, 104};
  const std::vector<double> after{110, 111, 112, 113, 114};
  const auto shift = shift_of(before, after, Better::kLower);
  ASSERT_TRUE(shift);
  EXPECT_NEAR(shift->log_worsening, std::log(112.0 / 102.0), 1e-3);
  EXPECT_GT(shift->low, 0);
  EXPECT_NEAR(shift->low, std::log(111.0 / 104.0), 2e-3);
  EXPECT_LT(shift_of(before, after, Better::kHigher)->high, 0);
}

TEST(Shift, TheIntervalHoldsTheTruthAsOftenAsItSays) {
  int held = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Chance chance(seed);
    std::vector<double> before;
    std::vector<double> after;
    for (int i = 0; i < 5; ++i) before.push_back(std::exp(0.1 * chance.normal()));
    for (int i = 0; i < 5; ++i) after.push_back(std::exp(0.3 + 0.1 * chance.normal()));
    const auto shift = shift_of(before, after, Better::kLower);
    held += shift->low <= 0.3 && 0.3 <= shift->high ? 1 : 0;
  }
  EXPECT_GE(held, 1900 - 20);
  EXPECT_LE(held, 1980);
}

// Runs that meet two or three pauses have two levels. Their median is one of them.
TEST(Shift, OfMeansLiesBetweenTwoLevels) {
  const std::vector<double> before(5, 1.0);
  const std::vector<double> after{0.96, 0.96, 0.94, 0.94, 0.96};
  const Shift median = shift_of(before, after, Better::kHigher).value();
  const Shift mean = shift_of(before, after, Better::kHigher, Centre::kMean).value();
  EXPECT_NEAR(median.log_worsening, -std::log(0.96), 1e-12);
  EXPECT_NEAR(mean.log_worsening, -(3 * std::log(0.96) + 2 * std::log(0.94)) / 5, 1e-12);
  EXPECT_LT(mean.low, mean.log_worsening);
  EXPECT_GT(mean.high, mean.log_worsening);
  EXPECT_LT(mean.run_error2, median.run_error2);
  EXPECT_EQ(shift_of(std::vector<double>(2, 1.0), after, Better::kHigher, Centre::kMean)->high,
            std::numeric_limits<double>::infinity());
}

TEST(Shift, FewRunsBoundNothing) {
  const std::array<double, 3> runs{1, 2, 3};
  const auto shift = shift_of(runs, runs, Better::kLower);
  ASSERT_TRUE(shift);
  EXPECT_TRUE(std::isinf(shift->low) && std::isinf(shift->high));
}

TEST(Shift, MissingRunsAreLeftOutAndFiguresThatCannotBeAreRefused) {
  const std::vector<double> runs{1, 2, 3};
  const std::vector<double> holes{1, std::nan(""), std::numeric_limits<double>::infinity(), 3};
  EXPECT_TRUE(shift_of(runs, holes, Better::kLower));
  const std::vector<double> zero{0, 1};
  EXPECT_EQ(shift_of(runs, zero, Better::kLower).error().code, Code::kInvalidArgument);
  EXPECT_EQ(shift_of({}, runs, Better::kLower).error().code, Code::kFailedPrecondition);
}

TEST(Permutation, SmallOnesAreExact) {
  const std::vector<double> up{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(sign_flip_p(up, 1), 1.0 / 16);
  const std::vector<double> none{0, 0, 0};
  EXPECT_DOUBLE_EQ(sign_flip_p(none, 1), 1);
  const std::vector<double> high{5, 6, 7, 8};
  EXPECT_DOUBLE_EQ(exchange_p(high, up, 1), 1.0 / 70);
}

TEST(Permutation, LargeOnesAreNearAndRepeat) {
  Chance chance(3);
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) values.push_back(0.4 + chance.normal());
  const double p = sign_flip_p(values, 7);
  EXPECT_EQ(p, sign_flip_p(values, 7));
  EXPECT_NEAR(p, sign_flip_p(values, 8), 0.02);
}

CohortEffect effect(double low, double high) {
  CohortEffect out;
  out.low = low;
  out.high = high;
  out.estimate = (low + high) / 2;
  out.p_exchanged = 0.01;
  return out;
}

TEST(Decision, FollowsTheStatedOrder) {
  EXPECT_EQ(decide(effect(-0.01, 0.009), 0.01).verdict, Verdict::kPass);
  EXPECT_FALSE(decide(effect(-0.01, 0.009), 0.01).loss_is_real);
  EXPECT_EQ(decide(effect(0.002, 0.009), 0.01).verdict, Verdict::kPass);
  EXPECT_TRUE(decide(effect(0.002, 0.009), 0.01).loss_is_real);
  EXPECT_EQ(decide(effect(0.002, 0.011), 0.01).verdict, Verdict::kRegressed);
  EXPECT_EQ(decide(effect(-0.002, 0.011), 0.01).verdict, Verdict::kInconclusive);
  EXPECT_EQ(decide(effect(0, 0.01), 0.01).verdict, Verdict::kInconclusive);
}

TEST(Decision, APermutationThatDisagreesLeavesItOpen) {
  CohortEffect odd = effect(0.002, 0.02);
  odd.p_exchanged = 0.4;
  EXPECT_EQ(decide(odd, 0.01).verdict, Verdict::kInconclusive);
  EXPECT_TRUE(decide(odd, 0.01).tests_disagree);
}

TEST(Cohort, OnePairBoundsNothing) {
  const std::vector<double> one{0.01};
  const CohortEffect out = cohort_effect({.shifts = one}, {}, 1);
  EXPECT_TRUE(std::isinf(out.low) && std::isinf(out.high));
  EXPECT_EQ(decide(out, 0.01).verdict, Verdict::kInconclusive);
}

TEST(Cohort, WhatMovedEveryNodeIsNotTheUpgrades) {
  const std::vector<double> changed{0.02, 0.021, 0.019, 0.02, 0.022};
  const std::vector<double> controls{0.02, 0.019, 0.021, 0.018, 0.02};
  EXPECT_EQ(decide(cohort_effect({.shifts = changed}, {.shifts = controls}, 1), 0.01).verdict,
            Verdict::kPass);
  EXPECT_EQ(decide(cohort_effect({.shifts = changed}, {}, 1), 0.01).verdict, Verdict::kRegressed);
}

// Each of `count` nodes with the next.
Group ring(std::size_t count, double spread) {
  Group out;
  for (std::size_t i = 0; i < count; ++i) {
    out.shifts.push_back(i % 2 == 0 ? spread : -spread);
    out.ends.push_back({{i, 1.0}, {(i + 1) % count, 1.0}});
  }
  return out;
}

TEST(SharedEnds, ARingsMeanHoldsMoreDriftThanItsSpreadShows) {
  // By hand, for 8: G has 2 beside 1s, so the mean holds 4 / 8 and the spread shows 12 / 7.
  const MeanSpread out = spread_of(ring(8, 0.01));
  EXPECT_NEAR(out.widening, 7.0 / 3, 1e-12);
  EXPECT_NEAR(out.error2, 7.0 / 3 * 8 * 1e-4 / 7 / 8, 1e-15);
  EXPECT_NEAR(out.degrees, 12.0 * 12 / 32, 1e-9);
  Group apart = ring(8, 0.01);
  for (std::size_t i = 0; i < 8; ++i) apart.ends[i] = {{i, 1.0}};
  EXPECT_NEAR(spread_of(apart).error2, 8 * 1e-4 / 7 / 8, 1e-15);
  EXPECT_DOUBLE_EQ(spread_of(apart).degrees, 7);
}

TEST(SharedEnds, WhatRunsAloneExplainIsNotWidened) {
  Group noisy = ring(8, 0.01);
  const double spread = 8 * 1e-4 / 7;
  noisy.run_error2 = 2 * spread;
  EXPECT_NEAR(spread_of(noisy).error2, 2 * spread / 8, 1e-15);
  noisy.run_error2 = spread / 2;
  EXPECT_NEAR(spread_of(noisy).error2, (spread / 2 + 7.0 / 3 * spread / 2) / 8, 1e-15);
}

TEST(SharedEnds, OnePairBothWaysIsOneFigure) {
  const MeanSpread out = spread_of(ring(2, 0.01));
  EXPECT_TRUE(std::isinf(out.error2));
  EXPECT_EQ(out.degrees, 0);
  EXPECT_EQ(spread_of({}).degrees, 0);
}

TEST(Need, MoreRunsHelpUntilNodesThemselvesDiffer) {
  Design design{.runs = 5, .changed = 8, .controls = 8, .run_variance = 1e-4, .node_variance = 0};
  CohortEffect wide = effect(-0.004, 0.012);
  const Need need = needed(design, wide, 0.01);
  EXPECT_GT(need.runs, 0U);
  EXPECT_GT(need.nodes, 0U);
  design.node_variance = 1e-3;
  EXPECT_EQ(needed(design, wide, 0.01).runs, 0U);
  EXPECT_GT(needed(design, wide, 0.01).nodes, 0U);
}

// Figures of emulated guests: runs agree, and one changed node is compared with controls that
// drift.
TEST(Need, WhatScattersBeyondTheDesignIsNotSettledByOneMore) {
  const Design design{
      .runs = 5, .changed = 2, .controls = 5, .run_variance = 0.02, .node_variance = 0.01};
  CohortEffect open = effect(-0.78, 0.77);
  open.standard_error = 0.36;
  open.degrees = 4;
  const Need need = needed(design, open, std::log(1.5));
  EXPECT_EQ(need.runs, 0U);
  EXPECT_GE(need.nodes, 3U);
  EXPECT_LE(need.nodes, 8U);
}

TEST(Need, TheVisibleLossShrinksWithRunsAndNodes) {
  Design design{
      .runs = 5, .changed = 16, .controls = 16, .run_variance = 1e-4, .node_variance = 2.5e-5};
  const double canary = smallest_loss(design, 0);
  EXPECT_GT(canary, 0.006);
  EXPECT_LT(canary, 0.009);
  design.runs = 10;
  EXPECT_LT(smallest_loss(design, 0), canary);
  design.changed = 4;
  EXPECT_GT(smallest_loss(design, 0), canary);
}

}  // namespace
}  // namespace railgauge::analysis
