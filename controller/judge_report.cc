#include "controller/judge_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/analysis/equivalence.h"
#include "controller/control.h"
#include "controller/rfc3339.h"
#include "controller/store/stack_parts.h"

namespace railgauge {
namespace {

constexpr double kPercent = 100;
constexpr std::size_t kNamed = 3;  // of many, in a sentence

std::string some_of(const std::vector<std::string>& names) {
  std::string text = fmt::format(
      "{}",
      fmt::join(names.begin(),
                names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)), ", "));
  if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
  return text;
}

api::JudgedMetric to_api(const analysis::MetricVerdict& metric) {
  api::JudgedMetric out;
  out.set_name(metric.name);
  out.set_verdict(std::string(word(metric.verdict)));
  out.set_worse_percent(kPercent * metric.worse);
  if (metric.low) out.set_low_percent(kPercent * *metric.low);
  if (metric.high) out.set_high_percent(kPercent * *metric.high);
  out.set_bound_percent(kPercent * metric.delta);
  out.set_changed_nodes(static_cast<std::uint32_t>(metric.changed));
  out.set_control_nodes(static_cast<std::uint32_t>(metric.controls));
  out.set_coverage(metric.coverage);
  for (const std::string& place : metric.missing) out.add_missing(place);
  out.set_more_runs(static_cast<std::uint32_t>(metric.need.runs));
  out.set_more_nodes(static_cast<std::uint32_t>(metric.need.nodes));
  if (!metric.reason.empty()) out.set_reason(metric.reason);
  for (const analysis::PairFlag& flag : metric.flags) {
    api::JudgedPlace& place = *out.add_places();
    place.set_node(flag.node);
    place.set_endpoint(flag.endpoint);
    if (!flag.other_node.empty())
      place.set_or_other_end(fmt::format("{}/{}", flag.other_node, flag.other_endpoint));
    place.set_worse_percent(kPercent * flag.worse);
    place.set_low_percent(kPercent * flag.low);
    place.set_high_percent(kPercent * flag.high);
  }
  out.set_p(metric.p_worse);
  return out;
}

// From the gravest to the least.
int gravity(analysis::Verdict verdict) {
  switch (verdict) {
    case analysis::Verdict::kRegressed:
      return 0;
    case analysis::Verdict::kInvalid:
      return 1;
    case analysis::Verdict::kInconclusive:
      return 2;
    case analysis::Verdict::kPass:
      break;
  }
  return 3;
}

std::vector<const analysis::MetricVerdict*> worst_first(const analysis::UpgradeVerdict& verdict) {
  std::vector<const analysis::MetricVerdict*> out;
  for (const analysis::MetricVerdict& metric : verdict.metrics) out.push_back(&metric);
  std::ranges::stable_sort(out, [](const auto* a, const auto* b) {
    if (gravity(a->verdict) != gravity(b->verdict))
      return gravity(a->verdict) < gravity(b->verdict);
    return a->worse / a->delta > b->worse / b->delta;
  });
  return out;
}

// Nodes that got worse: those whose own loss shows or that lost something; where no single one
// shows, all that changed.
std::set<std::string> worse_nodes(const Sides& sides, const analysis::UpgradeVerdict& verdict) {
  std::set<std::string> out;
  for (const analysis::LostFunction& lost : verdict.lost) out.insert(lost.sides.node);
  for (const analysis::MetricVerdict& metric : verdict.metrics)
    if (metric.verdict == analysis::Verdict::kRegressed)
      for (const analysis::PairFlag& flag : metric.flags) {
        out.insert(flag.node);
        if (!flag.other_node.empty()) out.insert(flag.other_node);
      }
  return out.empty() ? changed_nodes(sides) : out;
}

void add_causes(const Sides& sides, const analysis::UpgradeVerdict& verdict, api::Upgrade& out) {
  if (verdict.verdict != analysis::Verdict::kRegressed) return;
  const auto exposure = exposure_of(sides, worse_nodes(sides, verdict));
  for (const analysis::Cause& cause : analysis::likely_causes(exposure)) {
    api::UpgradeCause& told = *out.add_causes();
    for (const std::string& change : cause.changes) told.add_changes(change);
    told.set_exposed(static_cast<std::uint32_t>(cause.exposed));
    told.set_exposed_worse(static_cast<std::uint32_t>(cause.exposed_affected));
    told.set_unexposed(static_cast<std::uint32_t>(cause.unexposed));
    told.set_unexposed_worse(static_cast<std::uint32_t>(cause.unexposed_affected));
    told.set_p(cause.p);
    told.set_explains(cause.explains);
    for (const std::string& node : cause.separators) told.add_separators(node);
  }
}

// Each run's figures of the changed nodes as a share of their level before, in the order of runs.
void add_levels(const analysis::MetricRuns& metric, api::Upgrade& out) {
  std::map<std::size_t, std::pair<double, double>> before;  // sum and count by run
  std::map<std::size_t, std::pair<double, double>> after;
  for (const analysis::PairRuns& pair : metric.pairs) {
    if (!pair.changed || pair.before.empty()) continue;
    std::vector<double> sorted = pair.before;
    std::ranges::sort(sorted);
    const double level = sorted[sorted.size() / 2];
    if (!(level > 0)) continue;
    const auto add = [level](const std::vector<double>& values, auto& sums) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        sums[i].first += values[i] / level;
        sums[i].second += 1;
      }
    };
    add(pair.before, before);
    add(pair.after, after);
  }
  for (const auto& [run, sum] : before) out.add_before_levels(sum.first / sum.second);
  for (const auto& [run, sum] : after) out.add_after_levels(sum.first / sum.second);
}

// Own changes: named, never blamed.
void add_own_changes(const Sides& sides, api::Upgrade& out) {
  for (const auto& [node, stacks] : sides.stacks)
    for (const std::string& change : stacks.changes)
      if (part_of(change) == kOwnPart) {
        out.add_notes(
            fmt::format("Railgauge itself changed ({}, first on {}): it measures, and is "
                        "not among the suspects",
                        change, node));
        return;
      }
}
void add_revisions(const Sides& sides, api::Upgrade& out) {
  std::set<std::int64_t> earlier;
  for (const store::SidePointRow& point : sides.before) earlier.insert(point.series);
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> revisions;  // newest of each side
  for (const auto& [id, series] : sides.series) {
    auto& [before, after] = revisions[series.kernel];
    std::uint32_t& side = earlier.contains(id) ? before : after;
    side = std::max(side, series.revision);
  }
  for (const auto& [kernel, sides_of] : revisions)
    if (sides_of.first > 0 && sides_of.second > sides_of.first)
      out.add_notes(
          fmt::format("{} has revision {} now, {} before: another method, whose figures "
                      "are not compared and not blamed on the upgrade",
                      kernel, sides_of.second, sides_of.first));
}

void add_excluded(const Sides& sides, const analysis::UpgradeVerdict& verdict, api::Upgrade& out) {
  std::size_t controls = 0;
  for (const analysis::MetricVerdict& metric : verdict.metrics)
    if (metric.controlled) controls = std::max(controls, metric.controls);
  if (controls > 0)
    out.add_excluded(fmt::format(
        "a cause common to all: {} nodes that did not change were measured in the same runs, and "
        "what they moved by is subtracted",
        controls));
  bool replaced = false;
  bool settings = false;
  bool known = true;
  for (const auto& [node, stacks] : sides.stacks) {
    replaced = replaced || stacks.hardware_replaced;
    settings = settings || stacks.before.settings != stacks.after.settings;
    known = known && stacks.known;
  }
  if (!known) return;  // nothing can be excluded of a stack that nobody told
  if (!replaced) out.add_excluded("hardware: no NIC or GPU was replaced in between");
  if (!settings) out.add_excluded("settings: none of those that are watched changed");
}

// What moved at a node that was to stand still.
std::string why_dropped(const NodeStacks& stacks) {
  if (!stacks.while_measured.empty()) return stacks.while_measured;
  if (stacks.hardware_replaced) return std::string(kHardwareReplaced);
  constexpr std::size_t kTold = 2;
  return fmt::format("{}",
                     fmt::join(store::told_changes(lasting_changes(stacks.changes), kTold), ", "));
}

void add_dropped_controls(const Sides& sides, api::Upgrade& out) {
  const std::set<std::string> kept = control_nodes(sides);
  const std::set<std::string> missed = absent_nodes(sides);
  std::vector<std::string> dropped;
  std::vector<std::string> unknown;
  std::vector<std::string> absent;
  const std::set<std::string> lost = lost_controls(sides);
  if (!lost.empty())
    out.add_notes(fmt::format(
        "not used as controls, since they stopped working while the after side was measured, which "
        "is not blamed on the upgrade: {}",
        some_of({lost.begin(), lost.end()})));
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) {
    if (node.changed || kept.contains(node.node) || lost.contains(node.node)) continue;
    const auto stacks = sides.stacks.find(node.node);
    const bool is_known = stacks != sides.stacks.end() && stacks->second.known;
    if (missed.contains(node.node))
      absent.push_back(node.node);
    else if (is_known)
      dropped.push_back(fmt::format("{} ({})", node.node, why_dropped(stacks->second)));
    else
      unknown.push_back(node.node);
  }
  if (!absent.empty())
    out.add_notes(
        fmt::format("not used as controls, since they were busy or away after the upgrade: {}",
                    some_of(absent)));
  if (!unknown.empty())
    out.add_notes(
        fmt::format("not used as controls, since their stack is not known: {}", some_of(unknown)));
  if (!dropped.empty())
    out.add_notes(
        fmt::format("not used as controls, since they changed too: {}", some_of(dropped)));
}

// What a person would undo of it.
std::string undone(const std::string& change) {
  return change == kHardwareReplaced ? "the replacement of hardware" : part_of(change);
}

// Changed nodes of whose checks nothing was known before: none of theirs can be missed.
void add_unchecked(const Sides& sides, api::Upgrade& out) {
  std::vector<std::string> unchecked;
  for (const auto& [node, checks] : sides.checks)
    if (checks.before.empty()) unchecked.push_back(node);
  if (!unchecked.empty())
    out.add_notes(
        fmt::format("no preflight of before the upgrade, so its checks are not compared: {}",
                    some_of(unchecked)));
}

std::string first_change(const api::Upgrade& out) {
  return out.causes().empty() || out.causes(0).changes().empty() ? "what changed"
                                                                 : undone(out.causes(0).changes(0));
}

// A node that lost while others with the same change did not: it is the node.
void add_look_at(api::Upgrade& out) {
  const bool explained = std::ranges::any_of(out.causes(), &api::UpgradeCause::explains);
  if (explained || out.metrics().empty() || out.metrics(0).places().empty()) return;
  const api::JudgedPlace& place = out.metrics(0).places(0);
  const std::string either =
      place.has_or_other_end()
          ? fmt::format(" and {} (their other pairs do not tell which)", place.or_other_end())
          : "";
  out.add_next(
      fmt::format("look at {}/{}{} first: others with the same change did not lose as much",
                  place.node(), place.endpoint(), either));
}

// Whether what is open needs more nodes, and no number of runs would do.
bool only_nodes_help(const analysis::UpgradeVerdict& verdict) {
  bool is_open = false;
  for (const analysis::MetricVerdict& metric : verdict.metrics) {
    if (metric.verdict != analysis::Verdict::kInconclusive) continue;
    if (metric.need.runs > 0 || metric.need.nodes == 0) return false;
    is_open = true;
  }
  return is_open;
}

void add_next(const analysis::UpgradeVerdict& verdict, api::Upgrade& out) {
  const std::string nodes = fmt::format("{}", fmt::join(out.nodes(), ","));
  switch (verdict.verdict) {
    case analysis::Verdict::kPass:
      return;
    case analysis::Verdict::kRegressed:
      add_look_at(out);
      for (const api::UpgradeCause& cause : out.causes())
        if (cause.changes_size() > 1 && cause.separators_size() > 0)
          out.add_next(fmt::format("undo {} on {} alone, and gate again: that tells it from {}",
                                   undone(cause.changes(0)), cause.separators(0),
                                   undone(cause.changes(1))));
      out.add_next(
          fmt::format("undo {} on one of the nodes, then: railgauge upgrades gate --nodes "
                      "NODE",
                      first_change(out)));
      return;
    case analysis::Verdict::kInconclusive:
      out.add_next(
          only_nodes_help(verdict)
              ? "more runs would not settle it: upgrade and gate more nodes together, with more "
                "controls on both sides (railgauge upgrades prepare --controls SET)"
              : fmt::format(
                    "measure more: railgauge upgrades gate --nodes {} --on-inconclusive extend",
                    nodes));
      return;
    case analysis::Verdict::kInvalid:
      break;
  }
  out.add_next(
      fmt::format("measure both sides: railgauge upgrades prepare --nodes {} before the "
                  "next upgrade",
                  nodes));
}

}  // namespace

api::Upgrade summary_of(const store::UpgradeRow& row) {
  api::Upgrade out;
  out.set_schema_version(kSchemaVersion);
  out.set_upgrade_id(row.upgrade_id);
  out.set_state(row.state);
  if (!row.verdict.empty()) out.set_verdict(row.verdict);
  if (!row.kind.empty()) out.set_kind(row.kind);
  if (!row.reason.empty()) out.set_reason(row.reason);
  out.set_suite(row.suite);
  out.set_requested_by(row.requested_by);
  out.set_created_at(rfc3339(row.created_at));
  if (row.judged_at > 0) out.set_judged_at(rfc3339(row.judged_at));
  for (const store::UpgradeNodeRow& node : row.nodes)
    (node.changed ? out.add_nodes() : out.add_controls())->assign(node.node);
  for (const store::UpgradeRunRow& run : row.runs)
    (run.after ? out.add_after_runs() : out.add_before_runs())->assign(run.run_id);
  out.set_before_is_history(row.before_is_history);
  return out;
}

api::Upgrade report_of(const Sides& sides, const analysis::UpgradeRuns& runs,
                       const analysis::UpgradeVerdict& verdict, double since) {
  api::Upgrade out = summary_of(sides.upgrade);
  out.set_state("judged");
  out.set_verdict(std::string(word(verdict.verdict)));
  if (!verdict.kind.empty()) out.set_kind(verdict.kind);
  if (!verdict.reason.empty()) out.set_reason(verdict.reason);
  if (since > 0) out.set_since(rfc3339(since));
  const auto sorted = worst_first(verdict);
  for (const analysis::MetricVerdict* metric : sorted) *out.add_metrics() = to_api(*metric);
  for (const analysis::LostFunction& lost : verdict.lost) {
    api::LostFunction& told = *out.add_lost();
    told.set_node(lost.sides.node);
    told.set_endpoint(lost.sides.endpoint);
    told.set_name(lost.sides.name);
    told.set_kind(std::string(word(lost.kind)));
    told.set_what(lost.what);
  }
  add_causes(sides, verdict, out);
  add_excluded(sides, verdict, out);
  for (const std::string& note : verdict.notes) out.add_notes(note);
  add_dropped_controls(sides, out);
  add_unchecked(sides, out);
  add_own_changes(sides, out);
  add_revisions(sides, out);
  add_next(verdict, out);
  if (!sorted.empty())
    for (const analysis::MetricRuns& metric : runs.metrics)
      if (metric.name == sorted.front()->name) add_levels(metric, out);
  const auto is_synthetic = [](const store::SidePointRow& point) { return point.synthetic; };
  out.set_synthetic(std::ranges::any_of(sides.before, is_synthetic) ||
                    std::ranges::any_of(sides.after, is_synthetic));
  return out;
}

namespace {

// Of logarithms of a pair's runs.
double variance_of_logs(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  double n = 0;
  for (const double value : values) {
    if (!(value > 0)) continue;
    sum += std::log(value);
    squares += std::log(value) * std::log(value);
    ++n;
  }
  return n < 2 ? 0 : std::max(0.0, (squares - sum * sum / n) / (n - 1));
}

}  // namespace

void add_promise(const analysis::UpgradeRuns& runs, api::Upgrade& upgrade) {
  for (const analysis::MetricRuns& metric : runs.metrics) {
    std::map<std::string, std::pair<double, double>> nodes;  // variance and pairs, by node
    std::set<std::string> changed;
    std::size_t fewest = kRunsASide;
    for (const analysis::PairRuns& pair : metric.pairs) {
      if (pair.before.size() < 2) continue;
      nodes[pair.node].first += variance_of_logs(pair.before);
      nodes[pair.node].second += 1;
      if (pair.changed) changed.insert(pair.node);
      fewest = std::min(fewest, pair.before.size());
    }
    if (changed.empty()) continue;
    double variance = 0;
    for (const auto& [node, one] : nodes) variance += one.first / one.second / one.second;
    variance /= static_cast<double>(nodes.size());
    const double loss = analysis::smallest_loss(
        {.runs = fewest,
         .changed = changed.size(),
         .controls = nodes.size() - changed.size() >= 2 ? nodes.size() - changed.size() : 0,
         .run_variance = variance},
        analysis::log_worsening(metric.traits.better, metric.traits.delta));
    if (!std::isfinite(loss)) continue;
    const double percent = kPercent * analysis::worse_fraction(metric.traits.better, loss);
    upgrade.set_visible_loss_percent(std::max(upgrade.visible_loss_percent(), percent));
    upgrade.add_notes(
        fmt::format("{}: a loss of {:.2f} % will be called unless nodes drift by more than their "
                    "runs scatter, the bound is {:.1f} %",
                    metric.name, percent, kPercent * metric.traits.delta));
  }
}

}  // namespace railgauge
