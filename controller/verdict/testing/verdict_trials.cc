#include "controller/verdict/testing/verdict_trials.h"

#include <cmath>

#include <fmt/format.h>

#include "controller/verdict/testing/simulate.h"
#include "controller/verdict/verdict.h"

namespace railgauge::analysis {
namespace {

constexpr double kBytesPerSecond = 12e9;

struct Node {
  std::string name;
  bool changed = false;
  double drift = 0;  // of its own, fraction
};

// One series; its level moves by what both ends drifted.
PairRuns simulated_pair(const CohortPlan& plan, const Node& node, const Node* other,
                        Chance& chance) {
  PairRuns pair;
  pair.node = node.name;
  pair.endpoint = "port";
  pair.changed = node.changed;
  double drift = node.drift;
  if (other != nullptr) {
    pair.other_node = other->name;
    pair.other_endpoint = "port";
    drift += other->drift;
  }
  const double level = kBytesPerSecond * (1 + 0.02 * chance.normal());
  drift -= plan.common_shift + (node.changed ? plan.true_loss : 0);
  for (std::size_t run = 0; run < plan.runs; ++run)
    pair.before.push_back(level * (1 + plan.run_cv * chance.normal()));
  for (std::size_t run = 0; run < plan.runs * (1 + plan.extensions); ++run)
    pair.after.push_back(level * (1 + drift) * (1 + plan.run_cv * chance.normal()));
  return pair;
}

// Nodes of one kind: on a ring of their own, where there is one.
void add_group(const CohortPlan& plan, bool changed, Chance& chance, std::vector<PairRuns>& pairs) {
  std::vector<Node> nodes;
  for (std::size_t n = 0; n < (changed ? plan.changed : plan.controls); ++n)
    nodes.push_back({.name = fmt::format("{}{}", changed ? "changed" : "control", n),
                     .changed = changed,
                     .drift = plan.node_drift * chance.normal()});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& next = nodes[(i + 1) % nodes.size()];
    const bool ring = plan.pairs != CohortPlan::Pairs::kNone;
    pairs.push_back(simulated_pair(plan, nodes[i], ring ? &next : nullptr, chance));
    if (plan.pairs == CohortPlan::Pairs::kRingBothWays)
      pairs.push_back(simulated_pair(plan, next, &nodes[i], chance));
  }
}

// As the gate does it: measured again while it is inconclusive and more runs may settle it.
Verdict judged(const CohortPlan& plan, const UpgradeRuns& whole) {
  UpgradeRuns seen = whole;
  for (std::size_t look = 0;; ++look) {
    for (std::size_t i = 0; i < whole.metrics[0].pairs.size(); ++i) {
      const std::vector<double>& all = whole.metrics[0].pairs[i].after;
      seen.metrics[0].pairs[i].after.assign(
          all.begin(), all.begin() + static_cast<std::ptrdiff_t>(plan.runs * (1 + look)));
    }
    seen.again = look > 0;
    const UpgradeVerdict verdict = judge_upgrade(seen);
    if (verdict.verdict != Verdict::kInconclusive || look == plan.extensions ||
        verdict.metrics[0].need.runs == 0)
      return verdict.verdict;
  }
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
    add_group(plan, true, chance, metric.pairs);
    add_group(plan, false, chance, metric.pairs);
    upgrade.metrics.push_back(std::move(metric));
    const Verdict verdict = judged(plan, upgrade);
    if (verdict == Verdict::kPass) rates.pass += share;
    if (verdict == Verdict::kRegressed) rates.regressed += share;
    if (verdict == Verdict::kInconclusive) rates.inconclusive += share;
  }
  return rates;
}

}  // namespace railgauge::analysis
