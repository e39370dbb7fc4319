#include "controller/verdict/verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "controller/stats/families.h"
#include "controller/stats/permutation.h"
#include "controller/verdict/cohort.h"
#include "controller/verdict/shift.h"
#include "kernels/core/text/text.h"

namespace railgauge::analysis {

namespace {

// A word of a path and its rank.
struct Rank {
  std::string_view word;
  int rank;
};

// Straight from memory to the wire or to another GPU, through host memory, through the kernel's
// sockets.
constexpr std::array kPaths{
    Rank{"dmabuf", 3}, Rank{"dma-buf", 3},   Rank{"dma_buf", 3},    Rank{"peermem", 3},
    Rank{"gdr", 3},    Rank{"gpudirect", 3}, Rank{"gpu direct", 3}, Rank{"p2p", 3},
    Rank{"ib", 2},     Rank{"roce", 2},      Rank{"rdma", 2},       Rank{"verbs", 2},
    Rank{"shm", 2},    Rank{"staged", 1},    Rank{"socket", 1},     Rank{"tcp", 1},
    Rank{"net", 1},
};
// Outcomes of tasks and states of checks that show a working function.
constexpr std::array<std::string_view, 2> kGood{"passed", "pass"};
// A check that warns still works; what is unknown was not measured.
constexpr std::array<std::string_view, 7> kBad{"waived", "failed", "crashed", "timed_out",
                                               "fail",   "error",  kGone};

bool is_one_of(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

}  // namespace

std::string_view word(LossKind kind) {
  return kind == LossKind::kCorruption ? "corruption" : "lost_function";
}

namespace {

// Returns the rank of one path. The best of several words ("net/ib", "ib via dmabuf") counts, but a
// detour (staged, socket, tcp) decides.
int rank_of_one(std::string_view lower) {
  int best = 0;
  for (const Rank& rank : kPaths) {
    if (lower.find(rank.word) == std::string_view::npos) continue;
    if (rank.word == "staged" || rank.word == "socket" || rank.word == "tcp") return rank.rank;
    best = std::max(best, rank.rank);
  }
  return best;
}

}  // namespace

int path_rank(std::string_view path) {
  std::string lower(path);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  int worst = 0;
  for (std::string_view rest = lower; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const int rank = rank_of_one(rest.substr(0, comma));
    if (rank > 0 && (worst == 0 || rank < worst)) worst = rank;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return worst;
}

// A bad outcome decides first; a path is compared only where both outcomes are good.
std::vector<LostFunction> lost_functions(std::span<const FunctionSides> all) {
  std::vector<LostFunction> lost;
  for (const FunctionSides& sides : all) {
    if (sides.outcome_after == "corrupted") {
      lost.push_back({.kind = LossKind::kCorruption, .sides = sides, .what = "wrong bytes"});
      continue;
    }
    if (!is_one_of(sides.outcome_before, kGood)) continue;
    if (is_one_of(sides.outcome_after, kBad)) {
      lost.push_back(
          {.kind = LossKind::kLostFunction,
           .sides = sides,
           .what = fmt::format("{} before, now {}", sides.outcome_before, sides.outcome_after)});
      continue;
    }
    const int before = path_rank(sides.path_before);
    const int after = path_rank(sides.path_after);
    if (before > 0 && after > 0 && after < before)
      lost.push_back(
          {.kind = LossKind::kLostFunction,
           .sides = sides,
           .what = fmt::format("path {} before, now {}", sides.path_before, sides.path_after)});
  }
  return lost;
}

namespace {

// Names that a reason lists before it counts the others.
constexpr std::size_t kMaxNamed = 3;

// The design that was measured, for the question of what further runs would settle.
Design design_of(const Cohort& cohort, const MeanSpread& changed) {
  Design design{
      .runs = cohort.before,
      .changed = cohort.changed.shifts.size(),
      .controls = spread_of(cohort.controls).degrees > 0 ? cohort.controls.shifts.size() : 0,
      .run_variance = cohort.run_variance};
  design.after = cohort.after;
  if (!(changed.degrees > 0)) {
    design.changed = 1;
    const MeanSpread controls = spread_of(cohort.controls);
    if (controls.degrees > 0)
      design.node_variance = std::max(
          0.0, controls.error2 * static_cast<double>(design.controls) - cohort.controls.run_error2);
    return design;
  }
  const auto n = static_cast<double>(design.changed);
  design.node_variance = std::max(0.0, changed.error2 * n - cohort.changed.run_error2);
  return design;
}

// The first names and the number of the others.
std::string names(const std::vector<std::string>& all) { return some_of(all, kMaxNamed); }

// "3 more runs", "1 more node".
std::string more(std::size_t count, std::string_view thing) {
  return fmt::format("{} more {}{}", count, thing, count == 1 ? "" : "s");
}
// The second half of an inconclusive reason.
std::string what_would_settle(const Need& need) {
  if (need.runs > 0 && need.nodes > 0)
    return fmt::format("{} after it or {} would settle it", more(need.runs, "run"),
                       more(need.nodes, "node"));
  if (need.runs > 0) return more(need.runs, "run") + " after it would settle it";
  if (need.nodes > 0) return more(need.nodes, "node") + " would settle it; more runs would not";
  return "no number of runs or nodes that can be asked for would settle it";
}

// A pass needs enough of the changed pairs: a pair that nobody measured may have lost.
void require_coverage(double min_coverage, MetricVerdict& out) {
  if (out.verdict != Verdict::kPass || out.coverage >= min_coverage) return;
  out.verdict = Verdict::kInconclusive;
  out.reason =
      fmt::format("measured {:.0f} % of the pairs that changed, {:.0f} % are asked for; missing {}",
                  100 * out.coverage, 100 * min_coverage, names(out.missing));
}

// Runs of the changed pairs, or of the controls', as shares of their level before.
std::optional<ModeWeights> modes_of(const MetricRuns& metric, bool changed) {
  std::vector<double> before;
  std::vector<double> after;
  for (const PairRuns& pair : metric.pairs) {
    if (pair.changed != changed || measured(pair.before) == 0 || measured(pair.after) == 0)
      continue;
    std::vector<double> sorted;
    const auto is_figure = [](double v) { return std::isfinite(v) && v > 0; };
    std::ranges::copy_if(pair.before, std::back_inserter(sorted), is_figure);
    std::ranges::sort(sorted);
    const double level = sorted[sorted.size() / 2];
    for (const double v : pair.before)
      if (is_figure(v)) before.push_back(v / level);
    for (const double v : pair.after)
      if (is_figure(v)) after.push_back(v / level);
  }
  return mode_weights(before, after, metric.traits.better);
}

// Reports whether more runs are at the slower of two levels, without a shift of all runs and
// without a similar move of the controls.
bool slow_mode_grew(const MetricRuns& metric, const std::optional<ModeWeights>& modes) {
  if (!modes || !modes->moved || modes->after <= modes->before) return false;
  if (modes->before <= 0 && modes->after >= 1) return false;
  const auto controls = modes_of(metric, false);
  return !controls || 2 * (controls->after - controls->before) < modes->after - modes->before;
}

// Reason of an inconclusive metric.
std::string why_open(const MetricVerdict& out, const Decision& decision, bool may_be_drift) {
  if (may_be_drift)
    return fmt::format("{:.2f} % worse, which may be this one node's drift; {}", 100 * out.worse,
                       what_would_settle(out.need));
  return (decision.tests_disagree ? "a few pairs make the difference, the others do not show it; "
                                  : "") +
         what_would_settle(out.need);
}

// From the cohort's effect to the verdict. `metrics`: how many are asked at once.
void conclude(const MetricRuns& metric, const CohortEffect& effect, const Design& design,
              std::size_t metrics, MetricVerdict& out) {
  const double delta = log_worsening(metric.traits.better, metric.traits.delta);
  const Decision decision = decide(effect, delta);
  out.verdict = decision.verdict;
  out.loss_is_real = decision.loss_is_real;
  out.worse = worse_fraction(metric.traits.better, effect.estimate);
  if (std::isfinite(effect.low)) out.low = worse_fraction(metric.traits.better, effect.low);
  if (std::isfinite(effect.high)) out.high = worse_fraction(metric.traits.better, effect.high);
  out.p_worse = effect.p_worse;
  out.controlled = effect.controlled;
  // One node's own drift is not known: a loss must be beyond the bound for sure.
  const bool may_be_drift = out.lone && out.verdict == Verdict::kRegressed && !(effect.low > delta);
  if (may_be_drift) out.verdict = Verdict::kInconclusive;
  if (out.verdict == Verdict::kInconclusive) {
    out.need = needed(design, effect, delta);
    out.reason = why_open(out, decision, may_be_drift);
  } else if (out.verdict == Verdict::kRegressed) {
    // Applies when the metric does not hold among the others.
    out.need = needed(design, effect, delta, metrics);
    out.reason = fmt::format("{:.2f} % worse", 100 * out.worse);
  }
}

}  // namespace

// Gathers the cohort, bounds its shift, and adds the checks that the mean does not show: far losses
// and mode mixes.
MetricVerdict judge_metric(const MetricRuns& metric, const UpgradeRuns& upgrade) {
  MetricVerdict out;
  out.name = metric.name;
  out.delta = metric.traits.delta;
  out.is_shape = metric.is_shape;
  const Cohort cohort = gather(metric, upgrade, out);
  out.changed = cohort.changed.shifts.size();
  out.controls = cohort.controls.shifts.size();
  if (cohort.to_measure > 0)
    out.coverage =
        1 - static_cast<double>(out.missing.size()) / static_cast<double>(cohort.to_measure);
  if (cohort.changed.shifts.empty()) {
    out.verdict = Verdict::kInvalid;
    out.reason = cohort.to_measure == 0
                     ? "nothing that changed was to be measured"
                     : fmt::format("fewer than {} runs per side; missing {}",
                                   runs_needed(metric, upgrade).after, names(out.missing));
    return out;
  }
  const double one_sided = upgrade.again ? kOneSidedAgain : kOneSided;
  const MeanSpread spread = spread_of(cohort.changed);
  out.lone = !(spread.degrees > 0);
  const std::string words = upgrade.id + "\n" + metric.name;
  const CohortEffect effect =
      out.lone ? lone_effect(cohort.changed, cohort.controls, cohort.run_degrees, one_sided)
               : cohort_effect(cohort.changed, cohort.controls, seed_of(words), one_sided);
  conclude(metric, effect, design_of(cohort, spread), upgrade.metrics.size(), out);
  const CohortEffect common = cohort_effect(cohort.controls, {}, seed_of(words), one_sided);
  if (common.low > log_worsening(metric.traits.better, metric.traits.delta))
    out.common = worse_fraction(metric.traits.better, common.estimate);
  if (metric.is_shape) return out;
  find_far_losses(metric, cohort, upgrade.metrics.size(), out);
  out.modes = modes_of(metric, true);
  if (!slow_mode_grew(metric, out.modes)) out.modes.reset();
  require_coverage(upgrade.min_coverage, out);
  return out;
}

namespace {

// The loss of a single place does not vanish in the mean of many that lost nothing.
void add_far_losses(std::vector<MetricVerdict>& metrics) {
  for (MetricVerdict& metric : metrics) {
    if (metric.far.empty() || metric.verdict == Verdict::kRegressed) continue;
    metric.verdict = Verdict::kRegressed;
    metric.reason = fmt::format("{}: up to {:.2f} % worse by {}, whatever the mean of all is",
                                names(metric.far), 100 * metric.far_worse,
                                metric.far.size() == 1 ? "itself" : "themselves");
  }
}

// Chance of one false mode mix among all metrics together.
constexpr double kModeProof = 0.01;

// Makes a regression of a larger share of slow runs, which the median may not show.
void add_mode_mixes(std::vector<MetricVerdict>& metrics) {
  const auto asked = static_cast<double>(metrics.size());
  for (MetricVerdict& metric : metrics) {
    if (!metric.modes || metric.modes->p * asked > kModeProof) {
      metric.modes.reset();
      continue;
    }
    if (metric.verdict == Verdict::kRegressed || metric.verdict == Verdict::kInvalid) continue;
    metric.verdict = Verdict::kRegressed;
    metric.is_mode_mix = true;
    metric.reason =
        fmt::format("mode mix: the slower of two levels in {:.0f} % of runs, {:.0f} % before",
                    100 * metric.modes->after, 100 * metric.modes->before);
  }
}

// Among many metrics some look worse by chance: these become inconclusive and need more runs.
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
    if (asked[i]->verdict != Verdict::kRegressed) continue;
    if (stand[i]) {
      asked[i]->need = {};
      continue;
    }
    asked[i]->verdict = Verdict::kInconclusive;
    asked[i]->reason =
        fmt::format("{:.2f} % worse, but as much may be chance among {} metrics; {}",
                    100 * asked[i]->worse, asked.size(), what_would_settle(asked[i]->need));
  }
}

// A curve that bends nowhere, or anywhere, keeps nothing from passing: the figures at its sizes are
// judged by themselves.
void drop_open_shapes(UpgradeVerdict& out) {
  std::erase_if(out.metrics, [&](const MetricVerdict& metric) {
    const bool open =
        metric.verdict == Verdict::kInconclusive || metric.verdict == Verdict::kInvalid;
    if (!metric.is_shape || !open) return false;
    const std::string between =
        metric.low && metric.high
            ? fmt::format("{:+.0f} to {:+.0f} % worse", 100 * *metric.low, 100 * *metric.high)
            : "too few runs of whole curves";
    out.notes.push_back(
        fmt::format("{}: not judged, since it is not known better than {}", metric.name, between));
    return true;
  });
}

// Metrics that no earlier run has, when they are more than may be missing.
std::string never_before(const UpgradeRuns& upgrade) {
  const auto without = static_cast<double>(upgrade.uncompared.size());
  const auto compared = static_cast<double>(upgrade.metrics.size());
  if (upgrade.uncompared.empty() || compared / (compared + without) >= upgrade.min_coverage)
    return "";
  return fmt::format(
      "{} of {} metrics have no before side, since no earlier run has them: {}; railgauge upgrades "
      "prepare measures one before the next upgrade",
      upgrade.uncompared.size(), upgrade.metrics.size() + upgrade.uncompared.size(),
      names(upgrade.uncompared));
}

// Number of metrics with that verdict.
std::size_t count_of(const UpgradeVerdict& out, Verdict verdict) {
  return static_cast<std::size_t>(
      std::ranges::count(out.metrics, verdict, &MetricVerdict::verdict));
}
bool any(const UpgradeVerdict& out, Verdict verdict) { return count_of(out, verdict) > 0; }

// "metric: reason" of the first metric with that verdict.
std::string first_reason(const UpgradeVerdict& out, Verdict verdict) {
  for (const MetricVerdict& metric : out.metrics)
    if (metric.verdict == verdict) return metric.name + ": " + metric.reason;
  return "";
}

// Notes limit the statement; they do not change the verdict.
void add_notes(const UpgradeRuns& upgrade, UpgradeVerdict& out) {
  const bool lone = std::ranges::any_of(
      out.metrics, [](const MetricVerdict& m) { return m.changed > 0 && !m.controlled; });
  if (lone)
    out.notes.emplace_back(
        "no controls: a cause common to all nodes, changed or not, cannot be excluded");
  const bool single = std::ranges::any_of(out.metrics, &MetricVerdict::lone);
  if (single) out.notes.emplace_back("one node only: drift and upgrade cannot be separated");
  if (upgrade.again) out.notes.emplace_back("repeated look: 96 % intervals");
  if (upgrade.min_coverage < 1)
    out.notes.push_back(fmt::format("{:.0f} % of the changed pairs were asked for, not all",
                                    100 * upgrade.min_coverage));
  if (upgrade.before_is_history)
    out.notes.emplace_back("the before side is nightly history, not prepared for this upgrade");
  for (const MetricVerdict& metric : out.metrics)
    if (metric.common)
      out.notes.push_back(
          fmt::format("{}: nodes that did not change are {:.2f} % worse than before as well: "
                      "something common to all moved, and is not blamed on the upgrade",
                      metric.name, 100 * *metric.common));
  for (const MetricVerdict& metric : out.metrics)
    if (metric.loss_is_real)
      out.notes.push_back(fmt::format("{}: a loss of {:.2f} % is real, below the bound of {:.1f} %",
                                      metric.name, 100 * metric.worse, 100 * metric.delta));
}

// A metric without a measurement afterwards is neither lost nor fine. The same holds for a path
// that was among the compared ones and is not reported any more.
std::vector<std::string> unmeasured(std::span<const FunctionSides> functions) {
  std::vector<std::string> out;
  for (const FunctionSides& f : functions) {
    const bool worked = f.outcome_before == "passed" || f.outcome_before == "pass";
    const bool open =
        f.outcome_after.empty() || f.outcome_after == "unknown" || f.outcome_after == "cancelled";
    const bool lacks_path = path_rank(f.path_before) > 0 && f.path_after.empty();
    if (worked && (open || lacks_path))
      out.push_back(fmt::format("{}/{} {}{}", f.node, f.endpoint, f.name,
                                open ? "" : fmt::format(" (its path, {} before)", f.path_before)));
  }
  return out;
}

// Tasks of changed nodes that did not pass, and are not lost, when they are more than may be
// missing: of tasks alone, since there are many more checks than those.
std::string never_passed(const UpgradeRuns& upgrade) {
  std::vector<std::string> never;
  double tasks = 0;
  for (const FunctionSides& f : upgrade.functions) {
    tasks += f.is_task ? 1 : 0;
    if (f.never_passed)
      never.push_back(fmt::format("{} {}/{} ({})", f.name, f.node, f.endpoint,
                                  f.outcome_after.empty() ? "not measured" : f.outcome_after));
  }
  if (never.empty() || 1 - static_cast<double>(never.size()) / tasks >= upgrade.min_coverage)
    return "";
  return fmt::format("{} of {:.0f} tasks did not pass, nor as a rule before: {}", never.size(),
                     tasks, names(never));
}

}  // namespace

// The order of the branches is the order of severity: the first that applies decides.
UpgradeVerdict judge_upgrade(const UpgradeRuns& upgrade) {
  UpgradeVerdict out;
  for (const MetricRuns& metric : upgrade.metrics)
    out.metrics.push_back(judge_metric(metric, upgrade));
  hold_as_family(out.metrics);
  add_far_losses(out.metrics);
  add_mode_mixes(out.metrics);
  out.lost = lost_functions(upgrade.functions);
  out.unmeasured = unmeasured(upgrade.functions);
  out.notes = upgrade.notes;
  drop_open_shapes(out);
  add_notes(upgrade, out);
  const auto conclude = [&out](Verdict verdict, std::string reason) {
    out.verdict = verdict;
    out.reason = std::move(reason);
    return std::move(out);
  };
  const auto worst = std::ranges::find(out.lost, LossKind::kCorruption, &LostFunction::kind);
  // Also what was lost may be the change's own doing: a reboot.
  if (!upgrade.invalid.empty() && worst == out.lost.end())
    return conclude(Verdict::kInvalid, upgrade.invalid);
  if (!out.lost.empty()) {
    const LostFunction& lost = worst == out.lost.end() ? out.lost.front() : *worst;
    out.kind = word(lost.kind);
    return conclude(Verdict::kRegressed,
                    fmt::format("{}/{} {}: {}", lost.sides.node, lost.sides.endpoint,
                                lost.sides.name, lost.what));
  }
  if (any(out, Verdict::kRegressed)) {
    const bool slower = std::ranges::any_of(out.metrics, [](const MetricVerdict& m) {
      return m.verdict == Verdict::kRegressed && !m.is_mode_mix;
    });
    out.kind = slower ? "performance" : "mode_mix";
    return conclude(Verdict::kRegressed, first_reason(out, Verdict::kRegressed));
  }
  if (!upgrade.revised.empty()) return conclude(Verdict::kInconclusive, upgrade.revised);
  if (out.metrics.empty()) return conclude(Verdict::kInvalid, "nothing was measured");
  const std::string lacking = first_reason(out, Verdict::kInvalid);
  if (count_of(out, Verdict::kInvalid) == out.metrics.size())
    return conclude(Verdict::kInvalid, lacking);
  // Something was measured: what lacks would settle it, and forbids a pass. A tail, for example,
  // that slower messages leave too few samples for.
  const std::string unasked =
      out.unmeasured.empty() ? "" : "not measured after the upgrade: " + names(out.unmeasured);
  for (const std::string& reason :
       {lacking, upgrade.unproven, first_reason(out, Verdict::kInconclusive), unasked,
        never_passed(upgrade), never_before(upgrade)})
    if (!reason.empty()) return conclude(Verdict::kInconclusive, reason);
  return conclude(Verdict::kPass, "");
}

}  // namespace railgauge::analysis
