// The judge's bar in small: fewer series than the benchmark's, with the same seeds and limits that
// leave room for so few. All synthetic.
#include "controller/verdict/testing/trials.h"

#include <gtest/gtest.h>

#include "controller/verdict/testing/verdict_trials.h"

namespace railgauge::analysis {
namespace {

constexpr std::uint64_t kSeed = 20261122;

TEST(Trials, SeriesWithoutChangeStayQuiet) {
  for (const Null kind : kAllNulls) {
    const Alarms alarms = count_alarms(kind, 200, 365, true, kSeed);
    const double bar = kind == Null::kSticky ? 0.10 : 0.05;
    EXPECT_LE(alarms.rate(), bar + 0.02) << name(kind);
  }
}

// A random walk is left out: it moves, so what is found in it is true.
TEST(Trials, DependentRunsAndBurstsStayQuiet) {
  for (const Null kind : {Null::kStronglyCorrelated, Null::kBursts})
    EXPECT_LE(count_alarms(kind, 200, 365, true, kSeed).rate(), 0.05 + 0.02) << name(kind);
}

TEST(Trials, StepsAreFoundSoon) {
  EXPECT_GE(measure_power(2, 60, 200, true, kSeed).found_by_14, 0.88);
  EXPECT_LE(measure_power(3, 60, 200, true, kSeed).median_runs, 3);
  EXPECT_GE(measure_power(2, 60, 200, false, kSeed).found_by_14, 0.80);
}

TEST(Trials, UpgradeVerdictsErrSeldom) {
  CohortPlan plan;
  plan.changed = plan.controls = 8;
  EXPECT_LE(count_verdicts(plan, 300, kSeed).regressed, 0.09);
  plan.true_loss = plan.delta;
  EXPECT_LE(count_verdicts(plan, 300, kSeed).pass, 0.09);
  plan.changed = plan.controls = 16;
  EXPECT_GE(count_verdicts(plan, 300, kSeed).regressed, 0.87);
  plan.true_loss = 0;
  EXPECT_GE(count_verdicts(plan, 300, kSeed).pass, 0.89);
}

TEST(Trials, PairsOnARingErrAsSeldom) {
  CohortPlan plan;
  plan.changed = plan.controls = 8;
  for (const auto pairs : {CohortPlan::Pairs::kRing, CohortPlan::Pairs::kRingBothWays}) {
    plan.pairs = pairs;
    plan.true_loss = 0;
    EXPECT_LE(count_verdicts(plan, 300, kSeed).regressed, 0.09);
    plan.true_loss = plan.delta;
    EXPECT_LE(count_verdicts(plan, 300, kSeed).pass, 0.09);
  }
}

// Its runs agree, and every node drifts: so does the one that changed.
TEST(Trials, ASingleNodeIsBoundedByWhatTheControlsScatterBy) {
  CohortPlan plan;
  plan.changed = 1;
  plan.run_cv = 0.002;
  plan.true_loss = plan.delta;
  EXPECT_LE(count_verdicts(plan, 300, kSeed).pass, 0.09);
  plan.extensions = 4;
  EXPECT_LE(count_verdicts(plan, 300, kSeed).pass, 0.09);
  plan.true_loss = 0;
  EXPECT_GE(count_verdicts(plan, 300, kSeed).pass, 0.4);
  EXPECT_LE(count_verdicts(plan, 300, kSeed).regressed, 0.02);
}

TEST(Trials, WithoutControlsACommonShiftIsBlamedOnTheUpgrade) {
  // Why controls are asked for, and why a verdict without them says so.
  CohortPlan plan;
  plan.common_shift = 0.02;
  EXPECT_LE(count_verdicts(plan, 100, kSeed).regressed, 0.1);
  plan.controls = 0;
  EXPECT_GE(count_verdicts(plan, 100, kSeed).regressed, 0.9);
}

}  // namespace
}  // namespace railgauge::analysis
