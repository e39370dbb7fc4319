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
}

}  // namespace
}  // namespace railgauge
