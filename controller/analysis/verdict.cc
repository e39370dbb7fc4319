#include "controller/analysis/verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "controller/analysis/families.h"
#include "controller/analysis/permutation.h"
#include "controller/analysis/shift.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kMaxNamed = 3;  // of what is missing, in a reason

struct Cohort {
  std::vector<double> changed;  // logarithms, positive is worse
  std::vector<double> controls;
  double run_variance = 0;
  std::size_t to_measure = 0;                                  // changed endpoints
  std::size_t runs = std::numeric_limits<std::size_t>::max();  // a side, where there were fewest
};

std::size_t measured(const std::vector<double>& runs) {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs, [](double v) { return std::isfinite(v) && v > 0; }));
}

using Place = std::pair<std::string, std::string>;  // node and endpoint

// What one node's pairs say together.
struct NodeShift {
  bool changed = false;
  double sum = 0;
  double variances = 0;  // of a run's logarithm
  double pairs = 0;
};

void add_flag(const MetricRuns& metric, const PairRuns& pair, const Shift& shift,
              MetricVerdict& out) {
  if (!pair.changed || !(shift.low > log_worsening(metric.traits.better, metric.traits.delta)))
    return;
  out.flags.push_back({.node = pair.node,
                       .endpoint = pair.endpoint,
                       .worse = worse_fraction(metric.traits.better, shift.log_worsening),
                       .low = worse_fraction(metric.traits.better, shift.low),
                       .high = worse_fraction(metric.traits.better, shift.high)});
}

// One number for each node.
void add_nodes(const std::map<std::string, NodeShift>& nodes, Cohort& cohort) {
  double variances = 0;
  for (const auto& [name, node] : nodes) {
    (node.changed ? cohort.changed : cohort.controls).push_back(node.sum / node.pairs);
    variances += node.variances / node.pairs / node.pairs;
  }
  cohort.run_variance = nodes.empty() ? 0 : variances / static_cast<double>(nodes.size());
}

// Shifts of all pairs that have both sides; changed endpoints without any are named in `out`.
Cohort gather(const MetricRuns& metric, std::size_t min_runs, MetricVerdict& out) {
  Cohort cohort;
  std::map<std::string, NodeShift> nodes;
  std::map<Place, bool> places;  // that changed; whether they were measured
  for (const PairRuns& pair : metric.pairs) {
    // A figure that is not positive is no measurement: missing, never a pass.
    const bool enough = measured(pair.before) >= min_runs && measured(pair.after) >= min_runs;
    const auto shift = enough ? shift_of(pair.before, pair.after, metric.traits.better)
                              : Result<Shift>(fail(Code::kFailedPrecondition, ""));
    if (pair.changed) {
      bool& here = places[{pair.node, pair.endpoint}];
      here = here || shift.has_value();
      if (!pair.other_node.empty()) {
        bool& there = places[{pair.other_node, pair.other_endpoint}];
        there = there || shift.has_value();
      }
    }
    if (!shift) continue;
    NodeShift& node = nodes[pair.node];
    node.changed = pair.changed;
    node.sum += shift->log_worsening;
    node.variances += shift->run_variance;
    node.pairs += 1;
    cohort.runs = std::min({cohort.runs, measured(pair.before), measured(pair.after)});
    add_flag(metric, pair, *shift, out);
  }
  add_nodes(nodes, cohort);
  cohort.to_measure = places.size();
  for (const auto& [place, is_measured] : places)
    if (!is_measured) out.missing.push_back(place.first + "/" + place.second);
  return cohort;
}

double variance_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  double mean = 0;
  for (const double v : values) mean += v / static_cast<double>(values.size());
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return sum / static_cast<double>(values.size() - 1);
}

Design design_of(const Cohort& cohort) {
  const std::size_t runs = cohort.runs;
  Design design{.runs = runs,
                .changed = cohort.changed.size(),
                .controls = cohort.controls.size() >= 2 ? cohort.controls.size() : 0,
                .run_variance = cohort.run_variance};
  const double of_runs = 2 * cohort.run_variance / static_cast<double>(runs);
  design.node_variance = std::max(0.0, variance_of(cohort.changed) - of_runs);
  return design;
}

std::string names(const std::vector<std::string>& all) {
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), kMaxNamed); ++i)
    out += (i > 0 ? ", " : "") + all[i];
  if (all.size() > kMaxNamed) out += fmt::format(" and {} more", all.size() - kMaxNamed);
  return out;
}

std::string what_would_settle(const Need& need) {
  if (need.runs > 0 && need.nodes > 0)
    return fmt::format("{} more runs a side or {} more nodes would settle it", need.runs,
                       need.nodes);
  if (need.runs > 0) return fmt::format("{} more runs a side would settle it", need.runs);
  if (need.nodes > 0)
    return fmt::format("{} more nodes would settle it; more runs would not", need.nodes);
  return "no number of runs or nodes that can be asked for would settle it";
}

void require_coverage(double min_coverage, MetricVerdict& out) {
  if (out.verdict != Verdict::kPass || out.coverage >= min_coverage) return;
  out.verdict = Verdict::kInconclusive;
  out.reason = fmt::format("measured {:.0f} % of what changed, {:.0f} % are asked for; missing {}",
                           100 * out.coverage, 100 * min_coverage, names(out.missing));
}

}  // namespace

MetricVerdict judge_metric(const MetricRuns& metric, const UpgradeRuns& upgrade) {
  MetricVerdict out;
  out.name = metric.name;
  out.delta = metric.traits.delta;
  const std::size_t min_runs = std::max<std::size_t>(1, upgrade.min_runs);
  const Cohort cohort = gather(metric, min_runs, out);
  out.changed = cohort.changed.size();
  out.controls = cohort.controls.size();
  if (cohort.to_measure > 0)
    out.coverage =
        1 - static_cast<double>(out.missing.size()) / static_cast<double>(cohort.to_measure);
  if (cohort.changed.empty()) {
    out.verdict = Verdict::kInvalid;
    out.reason = cohort.to_measure == 0
                     ? "nothing that changed was to be measured"
                     : fmt::format("nothing that changed has {} runs on both sides; missing {}",
                                   min_runs, names(out.missing));
    return out;
  }
  const std::string words = upgrade.id + "\n" + metric.name;
  const CohortEffect effect =
      cohort.changed.size() == 1
          ? lone_effect(cohort.changed[0], cohort.controls, cohort.run_variance, cohort.runs)
          : cohort_effect(cohort.changed, cohort.controls, seed_of(words));
  const double delta = log_worsening(metric.traits.better, metric.traits.delta);
  const Decision decision = decide(effect, delta);
  out.verdict = decision.verdict;
  out.loss_is_real = decision.loss_is_real;
  out.worse = worse_fraction(metric.traits.better, effect.estimate);
  if (std::isfinite(effect.low)) out.low = worse_fraction(metric.traits.better, effect.low);
  if (std::isfinite(effect.high)) out.high = worse_fraction(metric.traits.better, effect.high);
  out.p_worse = effect.p_worse;
  out.controlled = effect.controlled;
  // What one node drifts by itself is not known: a loss must be beyond the bound for sure.
  const bool may_be_drift =
      cohort.changed.size() == 1 && out.verdict == Verdict::kRegressed && !(effect.low > delta);
  if (may_be_drift) out.verdict = Verdict::kInconclusive;
  if (out.verdict == Verdict::kInconclusive) {
    out.need = needed(design_of(cohort), effect, delta);
    out.reason = decision.tests_disagree
                     ? "a few pairs make the difference, the others do not show it; " +
                           what_would_settle(out.need)
                     : what_would_settle(out.need);
    if (may_be_drift)
      out.reason = fmt::format("{:.2f} % worse, which may be this one node's drift; {}",
                               100 * out.worse, what_would_settle(out.need));
  } else if (out.verdict == Verdict::kRegressed) {
    out.reason = fmt::format("{:.2f} % worse", 100 * out.worse);
  }
  require_coverage(upgrade.min_coverage, out);
  return out;
}

namespace {

// Among many metrics some look worse by chance: those are asked for more runs.
void hold_as_family(std::vector<MetricVerdict>& metrics) {
  std::vector<double> p;
  std::vector<MetricVerdict*> asked;
  for (MetricVerdict& metric : metrics) {
    if (metric.verdict == Verdict::kInvalid) continue;
    asked.push_back(&metric);
    p.push_back(metric.p_worse);
  }
  const std::vector<bool> stand = benjamini_hochberg(p);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (asked[i]->verdict != Verdict::kRegressed || stand[i]) continue;
    asked[i]->verdict = Verdict::kInconclusive;
    asked[i]->reason = fmt::format("{:.2f} % worse, but as much may be chance among {} metrics",
                                   100 * asked[i]->worse, asked.size());
  }
}

bool any(const UpgradeVerdict& out, Verdict verdict) {
  return std::ranges::any_of(out.metrics,
                             [&](const MetricVerdict& m) { return m.verdict == verdict; });
}

std::string first_reason(const UpgradeVerdict& out, Verdict verdict) {
  for (const MetricVerdict& metric : out.metrics)
    if (metric.verdict == verdict) return metric.name + ": " + metric.reason;
  return "";
}

void add_notes(const UpgradeRuns& upgrade, UpgradeVerdict& out) {
  const bool lone = std::ranges::any_of(
      out.metrics, [](const MetricVerdict& m) { return m.changed > 0 && !m.controlled; });
  if (lone)
    out.notes.emplace_back(
        "no controls: a cause common to all nodes, changed or not, cannot be excluded");
  const bool single =
      std::ranges::any_of(out.metrics, [](const MetricVerdict& m) { return m.changed == 1; });
  if (single)
    out.notes.emplace_back(
        "one changed node: what it drifts by itself cannot be told from the upgrade");
  if (upgrade.before_is_history)
    out.notes.emplace_back("the before side is nightly history, not prepared for this upgrade");
  for (const MetricVerdict& metric : out.metrics)
    if (metric.loss_is_real)
      out.notes.push_back(fmt::format("{}: a loss of {:.2f} % is real, below the bound of {:.1f} %",
                                      metric.name, 100 * metric.worse, 100 * metric.delta));
}

// Changed checks that nobody measured afterwards: they can neither be lost nor fine.
std::vector<std::string> unmeasured(std::span<const FunctionSides> functions) {
  std::vector<std::string> out;
  for (const FunctionSides& f : functions) {
    const bool worked = f.outcome_before == "passed" || f.outcome_before == "pass";
    const bool open =
        f.outcome_after.empty() || f.outcome_after == "unknown" || f.outcome_after == "cancelled";
    if (worked && open) out.push_back(fmt::format("{}/{} {}", f.node, f.endpoint, f.name));
  }
  return out;
}

}  // namespace

UpgradeVerdict judge_upgrade(const UpgradeRuns& upgrade) {
  UpgradeVerdict out;
  for (const MetricRuns& metric : upgrade.metrics)
    out.metrics.push_back(judge_metric(metric, upgrade));
  hold_as_family(out.metrics);
  out.lost = lost_functions(upgrade.functions);
  add_notes(upgrade, out);
  if (!out.lost.empty()) {
    const auto worst = std::ranges::find(out.lost, LossKind::kCorruption, &LostFunction::kind);
    const LostFunction& lost = worst == out.lost.end() ? out.lost.front() : *worst;
    out.verdict = Verdict::kRegressed;
    out.kind = word(lost.kind);
    out.reason = fmt::format("{}/{} {}: {}", lost.sides.node, lost.sides.endpoint, lost.sides.name,
                             lost.what);
    return out;
  }
  const std::vector<std::string> open = unmeasured(upgrade.functions);
  if (any(out, Verdict::kRegressed)) {
    out.verdict = Verdict::kRegressed;
    out.kind = "performance";
    out.reason = first_reason(out, Verdict::kRegressed);
  } else if (out.metrics.empty() || any(out, Verdict::kInvalid)) {
    out.verdict = Verdict::kInvalid;
    out.reason =
        out.metrics.empty() ? "nothing was measured" : first_reason(out, Verdict::kInvalid);
  } else if (any(out, Verdict::kInconclusive)) {
    out.verdict = Verdict::kInconclusive;
    out.reason = first_reason(out, Verdict::kInconclusive);
  } else if (!open.empty()) {
    out.verdict = Verdict::kInconclusive;
    out.reason = "not measured after the upgrade: " + names(open);
  } else {
    out.verdict = Verdict::kPass;
  }
  return out;
}

}  // namespace railgauge::analysis
