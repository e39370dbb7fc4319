#include "controller/analysis/testing/verdict_trials.h"

#include <cmath>

#include <fmt/format.h>

#include "controller/analysis/testing/simulate.h"
#include "controller/analysis/verdict.h"

namespace railgauge::analysis {
namespace {

constexpr double kBytesPerSecond = 12e9;

PairRuns simulated_pair(const CohortPlan& plan, std::size_t number, bool changed, Chance& chance) {
  PairRuns pair;
  pair.node = fmt::format("{}{}", changed ? "changed" : "control", number);
  pair.endpoint = "port";
  pair.changed = changed;
  const double level = kBytesPerSecond * (1 + 0.02 * chance.normal());
  const double drift =
      plan.node_drift * chance.normal() - plan.common_shift - (changed ? plan.true_loss : 0);
  for (std::size_t run = 0; run < plan.runs; ++run)
    pair.before.push_back(level * (1 + plan.run_cv * chance.normal()));
  for (std::size_t run = 0; run < plan.runs; ++run)
    pair.after.push_back(level * (1 + drift) * (1 + plan.run_cv * chance.normal()));
  return pair;
}

}  // namespace

VerdictRates count_verdicts(const CohortPlan& plan, std::size_t seeds, std::uint64_t seed) {
  VerdictRates rates;
  const double share = 1.0 / static_cast<double>(seeds);
  for (std::size_t i = 0; i < seeds; ++i) {
    Chance chance(seed + i);
    UpgradeRuns upgrade{.id = fmt::format("trial {}", i), .metrics = {}, .functions = {}};
    upgrade.min_runs = plan.runs;
    MetricRuns metric{
        .name = "bandwidth", .traits = traits_of("bytes_per_second", true, "median"), .pairs = {}};
    metric.traits.delta = plan.delta;
    for (std::size_t n = 0; n < plan.changed + plan.controls; ++n)
      metric.pairs.push_back(simulated_pair(plan, n, n < plan.changed, chance));
    upgrade.metrics.push_back(std::move(metric));
    const Verdict verdict = judge_upgrade(upgrade).verdict;
    if (verdict == Verdict::kPass) rates.pass += share;
    if (verdict == Verdict::kRegressed) rates.regressed += share;
    if (verdict == Verdict::kInconclusive) rates.inconclusive += share;
  }
  return rates;
}

}  // namespace railgauge::analysis
