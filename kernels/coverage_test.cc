#include <algorithm>

#include <gtest/gtest.h>

#include "kernels/testing/sampled_families.h"

namespace railgauge {
namespace {

constexpr std::uint64_t kRuns = 60;

const SimulatedOperation& named(const std::vector<SimulatedOperation>& all,
                                const std::string& name) {
  const auto found = std::ranges::find(all, name, &SimulatedOperation::name);
  RG_CHECK(found != all.end());
  return *found;
}

// All operations, for the family whose cap allows the fewest samples, so that dependence counts
// most. Each seed is fixed; the bound allows for the error of the count.
TEST(Coverage, HoldsWhereverTheCopiesOfAGpuSayConverged) {
  const SampledFamily family = rate_families()[2];
  ASSERT_EQ(family.name, "cuda.host_copy_bw");
  for (const double noise : {0.002, 0.02})
    for (const SimulatedOperation& operation : simulated_operations(noise)) {
      if (operation.is_beyond) continue;
      const Coverage coverage = measure_coverage(family, operation, kRuns);
      EXPECT_EQ(coverage.runs, kRuns);
      EXPECT_FALSE(is_below_bound(coverage)) << operation.name << " noise " << noise << ": "
                                             << coverage.held << " of " << coverage.converged;
      EXPECT_GE(coverage.held_in_all, 8 * coverage.with_interval / 10) << operation.name;
    }
}

TEST(Coverage, HoldsForDependentAndDriftingSamplesOfEachFamily) {
  auto families = rate_families();
  for (const SampledFamily& family : latency_families()) families.push_back(family);
  const auto operations = simulated_operations(0.02);
  for (const SampledFamily& family : families)
    for (const char* name : {"AR(1) 0.9", "drift 1 %"}) {
      const Coverage coverage =
          measure_coverage(family, named(operations, name), family.is_rate ? kRuns : kRuns / 4);
      EXPECT_FALSE(is_below_bound(coverage))
          << family.name << ' ' << name << ": " << coverage.held << " of " << coverage.converged;
    }
}

// The rate's interval, on a part of the operations: dependent, heavy tailed, drifting, and every
// kind of pause. deploy/coverage.sh measures all of them with many runs.
TEST(Coverage, TheRatesIntervalHoldsInEachFamily) {
  constexpr std::uint64_t kFewRuns = 12;
  for (const SampledFamily& family : rate_families()) {
    auto operations = paused_operations(0.02);
    const auto all = simulated_operations(0.02);
    for (const char* name : {"normal", "Pareto 1.5", "spikes", "AR(1) 0.8", "drift 1 %"})
      operations.push_back(named(all, name));
    Coverage whole;
    for (const SimulatedOperation& operation : operations) {
      // Samples of 50 to 200 us: a tenth of the runs makes as many samples.
      const Coverage rate =
          measure_all(family, operation, family.sample_ns < 1e6 ? 2 : kFewRuns).rate;
      EXPECT_FALSE(is_surely_below_bound(rate))
          << family.name << ' ' << operation.name << ": " << rate.held << " of " << rate.converged;
      whole.converged += rate.converged;
      whole.held += rate.held;
    }
    EXPECT_GT(whole.converged, 0U) << family.name;
    EXPECT_FALSE(is_surely_below_bound(whole))
        << family.name << ": " << whole.held << " of " << whole.converged;
  }
}

// A run that met no pause says converged; it is counted by itself. One that met some says how wide
// its interval is.
TEST(Coverage, ARunThatMetAFewLongPausesIsNotConverged) {
  const SampledFamily family = rate_families()[0];
  const auto operations = paused_operations(0.002);
  const Coverage rate =
      measure_all(family, named(operations, "5 % in random pauses of 500 ms"), kRuns).rate;
  EXPECT_EQ(rate.converged, 0U);
  EXPECT_GT(rate.unaware, kRuns / 4);
  EXPECT_LT(rate.unaware, kRuns);
  EXPECT_GE(rate.held_in_all, 9 * rate.with_interval / 10);
}

// NCCL's runs are those of times, one call a sample.
TEST(Coverage, NcclIsSimulatedAsItSamples) {
  for (const SampledFamily& family : rate_families()) {
    const bool is_nccl = family.name.starts_with("nccl.");
    EXPECT_EQ(family.options.rate == SamplerOptions::Rate::kOfTimes, is_nccl) << family.name;
    EXPECT_EQ(family.is_rate, !is_nccl) << family.name;
  }
}

// A rule that never says converged keeps every bound; this one must stop.
TEST(Coverage, IndependentSamplesOfLittleNoiseConvergeEarlyInEachFamily) {
  auto families = rate_families();
  for (const SampledFamily& family : latency_families()) families.push_back(family);
  const auto operations = simulated_operations(0.002);
  for (const SampledFamily& family : families) {
    const Coverage coverage = measure_coverage(family, named(operations, "normal"), 10);
    const double allowed = std::min(static_cast<double>(family.options.max_samples),
                                    family.options.time_cap_ns / family.sample_ns);
    EXPECT_EQ(coverage.converged, 10U) << family.name;
    // A rate keeps its least time, however little its noise.
    const double least = std::max(static_cast<double>(family.options.min_samples),
                                  family.options.least_measure_ns / family.sample_ns * 1.1 +
                                      static_cast<double>(family.options.batch));
    EXPECT_LE(coverage.mean_samples, std::max(0.35 * allowed, least)) << family.name;
  }
}

// The check can fail: the rule before decision 066 is below the bound where samples depend on each
// other or drift, and not where they do neither.
TEST(Coverage, TheRuleBeforeFailsTheSameCheck) {
  const SampledFamily family = rate_families()[2];
  const auto operations = simulated_operations(0.02);
  for (const char* name : {"AR(1) 0.8", "AR(1) 0.95", "drift 3 %", "step in the middle"})
    EXPECT_TRUE(is_below_bound(measure_coverage_before(family, named(operations, name), kRuns)))
        << name;
  EXPECT_FALSE(is_below_bound(measure_coverage_before(family, named(operations, "normal"), kRuns)));
}

// Independent, dependent, heavy tailed and of two modes, in a family with thousands of samples.
TEST(Coverage, ThePercentilesIntervalsHold) {
  const SampledFamily family = latency_families()[4];
  ASSERT_EQ(family.name, "bar.write_lat");
  constexpr std::uint64_t kFewRuns = 8;
  std::uint64_t judged = 0;
  for (const SimulatedOperation& operation : simulated_operations(0.02)) {
    if (!operation.quantile) continue;
    const Coverages found = measure_all(family, operation, kFewRuns);
    for (const CoverageFigure figure : {&Coverages::p99, &Coverages::p999}) {
      const Coverage& coverage = found.*figure;
      EXPECT_EQ(coverage.runs, kFewRuns);
      EXPECT_FALSE(is_surely_below_bound(coverage))
          << operation.name << ": " << coverage.held << " of " << coverage.converged;
      judged += coverage.converged;
    }
  }
  EXPECT_GT(judged, kRuns);
}

TEST(Coverage, IsNearTheBoundWithinTwoStandardErrorsOnEitherSide) {
  EXPECT_FALSE(is_near_bound({}));
  EXPECT_FALSE(is_near_bound({.runs = 200, .converged = 200, .held = 200}));
  EXPECT_FALSE(is_near_bound({.runs = 200, .converged = 200, .held = 193}));
  EXPECT_TRUE(is_near_bound({.runs = 200, .converged = 200, .held = 191}));
  EXPECT_TRUE(is_near_bound({.runs = 200, .converged = 200, .held = 186}));
  EXPECT_TRUE(is_near_bound({.runs = 200, .converged = 200, .held = 178}));
  EXPECT_FALSE(is_near_bound({.runs = 200, .converged = 200, .held = 176}));
  // Where few converge the bound is 1 % of all runs.
  EXPECT_FALSE(is_near_bound({.runs = 200, .converged = 40, .held = 40}));
  EXPECT_TRUE(is_near_bound({.runs = 200, .converged = 40, .held = 39}));
  EXPECT_TRUE(is_near_bound({.runs = 200, .converged = 40, .held = 34}));
  EXPECT_FALSE(is_near_bound({.runs = 200, .converged = 40, .held = 30}));
}

TEST(Coverage, IsBelowTheBoundOnlyBeyondTheErrorOfTheCount) {
  EXPECT_FALSE(is_below_bound({}));
  EXPECT_FALSE(is_below_bound({.runs = 1000, .converged = 1000, .held = 930}));
  EXPECT_TRUE(is_below_bound({.runs = 1000, .converged = 1000, .held = 929}));
  EXPECT_FALSE(is_below_bound({.runs = 1000, .converged = 40, .held = 30}));
  EXPECT_TRUE(is_below_bound({.runs = 1000, .converged = 40, .held = 15}));
  EXPECT_TRUE(is_below_bound({.runs = 1000, .converged = 1000, .held = 890}));
  EXPECT_FALSE(is_below_bound({.runs = 1000, .converged = 1, .held = 0}));
  EXPECT_FALSE(is_below_bound({.runs = 1000, .converged = 4, .held = 0}));
  EXPECT_TRUE(is_below_bound({.runs = 100, .converged = 5, .held = 0}));
  EXPECT_FALSE(is_surely_below_bound({}));
  EXPECT_FALSE(is_surely_below_bound({.runs = 20, .converged = 20, .held = 16}));
  EXPECT_TRUE(is_surely_below_bound({.runs = 20, .converged = 20, .held = 14}));
}

}  // namespace
}  // namespace railgauge
