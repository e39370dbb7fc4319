#include "controller/upgrades/upgrade_data.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/detect/knee.h"
#include "controller/upgrades/judge_functions.h"
#include "controller/upgrades/side_figures.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::string_view kActive = "active";  // state of an endpoint that works

// One text of each changed node: its name or its id.
std::set<std::string> changed_of(const store::UpgradeRow& upgrade,
                                 std::string store::UpgradeNodeRow::*name) {
  std::set<std::string> out;
  for (const store::UpgradeNodeRow& node : changed_nodes(upgrade)) out.insert(node.*name);
  return out;
}

// Adds a place for a changed node that neither side measured at all. Without it the other nodes
// would pass for it.
void add_unmeasured(const NodeRoles& roles, std::map<std::string, analysis::MetricRuns>& metrics) {
  std::set<std::string> seen;
  for (const auto& [name, metric] : metrics)
    for (const analysis::PairRuns& pair : metric.pairs) {
      seen.insert(pair.node);
      seen.insert(pair.other_node);
    }
  for (const std::string& node : roles.changed)
    if (!seen.contains(node))
      for (auto& [name, metric] : metrics)
        metric.pairs.push_back(
            {.node = node, .endpoint = "any", .changed = true, .before = {}, .after = {}});
}

// Does so for all metrics, and notes those without any earlier run.
void keep_compared(analysis::MetricRuns& metric) {
  const auto is_early = [](const analysis::PairRuns& pair) {
    return pair.before.size() < kHistoryRunsBefore;
  };
  std::set<std::pair<std::string, std::string>> compared;
  for (const analysis::PairRuns& pair : metric.pairs)
    if (!is_early(pair) && pair.after.size() >= pair.min_after) {
      compared.emplace(pair.node, pair.endpoint);
      compared.emplace(pair.other_node, pair.other_endpoint);
    }
  // Both ends: where both changed, the other one may be in no other pair.
  const auto is_shown = [&](const analysis::PairRuns& pair) {
    return compared.contains({pair.node, pair.endpoint}) &&
           (!pair.other_changed || compared.contains({pair.other_node, pair.other_endpoint}));
  };
  std::erase_if(metric.pairs, [&](const analysis::PairRuns& pair) {
    if (pair.after.empty()) return true;
    return is_early(pair) && (!pair.changed || is_shown(pair));
  });
}

void keep_compared(std::map<std::string, analysis::MetricRuns>& metrics,
                   analysis::UpgradeRuns& out) {
  for (auto& [name, metric] : metrics) {
    const bool none_before = std::ranges::all_of(
        metric.pairs, [](const analysis::PairRuns& pair) { return pair.before.empty(); });
    if (none_before) {
      if (std::ranges::any_of(metric.pairs, &analysis::PairRuns::changed))
        out.uncompared.push_back(name);
      metric.pairs.clear();
    } else {
      keep_compared(metric);
    }
  }
  if (!out.uncompared.empty())
    out.notes.push_back(fmt::format("not judged, since no earlier run has it: {}",
                                    fmt::join(out.uncompared, "; ")));
  std::erase_if(metrics, [](const auto& entry) { return entry.second.pairs.empty(); });
}

// A node and its endpoint.
using Place = std::pair<std::string, std::string>;

// The places of changed nodes among the pairs.
std::set<Place> changed_places(const std::vector<analysis::PairRuns>& pairs,
                               const NodeRoles& roles) {
  std::set<Place> out;
  for (const analysis::PairRuns& pair : pairs) {
    if (roles.changed.contains(pair.node)) out.emplace(pair.node, pair.endpoint);
    if (roles.changed.contains(pair.other_node)) out.emplace(pair.other_node, pair.other_endpoint);
  }
  return out;
}

// Adds changed places whose only pairs were with a control that is left out: the other places would
// pass for them.
void add_dropped(const std::map<std::string, analysis::MetricRuns>& dropped, const NodeRoles& roles,
                 bool is_history, std::map<std::string, analysis::MetricRuns>& metrics) {
  for (const auto& [name, metric] : dropped) {
    const bool is_asked = std::ranges::any_of(
        metric.pairs, [](const analysis::PairRuns& pair) { return !pair.after.empty(); });
    if (is_history && !is_asked && !metrics.contains(name)) continue;  // nights measure more
    analysis::MetricRuns& kept = metrics[name];
    kept.name = name;
    kept.traits = metric.traits;
    const std::set<Place> seen = changed_places(kept.pairs, roles);
    for (const auto& [node, endpoint] : changed_places(metric.pairs, roles))
      if (!seen.contains({node, endpoint}))
        kept.pairs.push_back(
            {.node = node, .endpoint = endpoint, .changed = true, .before = {}, .after = {}});
  }
}

// Adds a metric for each measurement and statistic with all pairs of nodes that have a role. Pairs
// with a node that was meant as a control and is none are collected apart.
void add_metrics(const UpgradeData& sides, const Comparison& comparison, const NodeRoles& roles,
                 analysis::UpgradeRuns& out) {
  NodeRoles all = roles;
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes)
    if (!node.changed) all.controls.insert(node.node);
  std::map<std::string, analysis::MetricRuns> metrics;
  std::map<std::string, analysis::MetricRuns> dropped;
  FigureTaker taker(sides, comparison);
  for (const auto& [id, series] : sides.series) {
    const bool is_kept = pair_of(series, roles).has_value();
    const auto pair = pair_of(series, all);
    if (!pair || comparison.left_out.contains(id)) continue;
    for (SeriesFigures& figures : taker.take(id, is_kept && pair->changed)) {
      analysis::MetricRuns& metric = (is_kept ? metrics : dropped)[figures.metric];
      metric.name = figures.metric;
      metric.traits = analysis::traits_of(series.unit, series.larger_is_better, figures.statistic);
      metric.by_mean = figures.statistic == analysis::kFlowStatistic;
      // The suite was checked when it was read.
      static_cast<void>(analysis::override_deltas(sides.bounds, figures.statistic, metric.traits));
      analysis::PairRuns& runs = metric.pairs.emplace_back(*pair);
      runs.before = std::move(figures.before);
      runs.after = std::move(figures.after);
      runs.min_before = figures.needed.before;
      runs.min_after = figures.needed.after;
    }
  }
  taker.add_notes(out);
  if (sides.upgrade.before_is_history) keep_compared(metrics, out);
  add_dropped(dropped, roles, sides.upgrade.before_is_history, metrics);
  add_unmeasured(roles, metrics);
  for (auto& [name, metric] : metrics) {
    const auto is_changed = [](const analysis::PairRuns& pair) { return pair.changed; };
    if (std::ranges::any_of(metric.pairs, is_changed)) out.metrics.push_back(std::move(metric));
  }
}

}  // namespace

std::vector<std::reference_wrapper<const store::UpgradeNodeRow>> changed_nodes(
    const store::UpgradeRow& upgrade) {
  std::vector<std::reference_wrapper<const store::UpgradeNodeRow>> changed;
  for (const store::UpgradeNodeRow& node : upgrade.nodes)
    if (node.changed) changed.emplace_back(node);
  return changed;
}

// A stable sort puts the changed ends first and keeps the order of ranks among equals.
std::optional<analysis::PairRuns> pair_of(const store::SeriesRow& series, const NodeRoles& roles) {
  std::vector<std::pair<std::string, std::string>> places;
  for (const std::string& text : series.endpoints) {
    places.push_back(place_of(text));
    if (!roles.has(places.back().first)) return std::nullopt;
  }
  if (places.empty()) return std::nullopt;
  const auto is_changed = [&](const auto& place) { return roles.changed.contains(place.first); };
  // Those that changed first, each kind in the order of the ranks.
  std::ranges::stable_sort(places, std::greater(), is_changed);
  analysis::PairRuns pair;
  pair.node = places.front().first;
  pair.endpoint = places.front().second;
  pair.changed = is_changed(places.front());
  const auto other =
      std::ranges::find_if(places, [&](const auto& place) { return place.first != pair.node; });
  if (other != places.end()) {
    pair.other_node = other->first;
    pair.other_endpoint = other->second;
    pair.other_changed = is_changed(*other);
  }
  return pair;
}

std::vector<store::StackChange> foreign_changes(std::vector<store::StackChange> changes) {
  std::erase_if(changes, [](const store::StackChange& change) { return change.part == kOwnPart; });
  return changes;
}

std::vector<store::StackChange> lasting_changes(std::vector<store::StackChange> changes) {
  changes = foreign_changes(std::move(changes));
  std::erase_if(changes, [](const store::StackChange& change) {
    return change.part.starts_with("module.") && (change.from == "none" || change.to == "none");
  });
  return changes;
}

std::string part_of(const std::string& change) { return change.substr(0, change.find(' ')); }

// A port without link stays in the inventory with another state.
bool is_away(const store::EndpointStateRow& endpoint) {
  return endpoint.gone || endpoint.state != kActive;
}

std::set<std::string> changed_names(const store::UpgradeRow& upgrade) {
  return changed_of(upgrade, &store::UpgradeNodeRow::node);
}

std::set<std::string> changed_ids(const store::UpgradeRow& upgrade) {
  return changed_of(upgrade, &store::UpgradeNodeRow::node_id);
}

// A side without tasks says nothing about presence.
std::set<std::string> absent_nodes(const UpgradeData& sides) {
  std::set<std::string> out;
  if (sides.tasks_after.empty()) return out;
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) out.insert(node.node);
  for (const store::SideTaskRow& task : sides.tasks_after)
    for (const std::string& node : task.nodes) out.erase(node);
  return out;
}

namespace {

// Nodes that were meant as controls, took part, and did not change; whether they kept working is
// not examined here.
std::set<std::string> unchanged_controls(const UpgradeData& sides) {
  const std::set<std::string> absent = absent_nodes(sides);
  std::set<std::string> out;
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) {
    const auto stacks = sides.stacks.find(node.node);
    if (!node.changed && !absent.contains(node.node) && stacks != sides.stacks.end() &&
        stacks->second.known && lasting_changes(stacks->second.changes).empty() &&
        !stacks->second.hardware_replaced && stacks->second.while_measured.empty())
      out.insert(node.node);
  }
  return out;
}

}  // namespace

std::set<std::string> lost_controls(const UpgradeData& sides) {
  return failed_controls(sides, unchanged_controls(sides));
}

// A control that failed would blame the fabric's own fault on the upgrade, or hide it.
std::set<std::string> control_nodes(const UpgradeData& sides) {
  std::set<std::string> out = unchanged_controls(sides);
  for (const std::string& node : failed_controls(sides, out)) out.erase(node);
  return out;
}

// An unknown stack is not the same.
bool is_same_stack(const UpgradeData& sides) {
  return std::ranges::all_of(changed_names(sides.upgrade), [&](const std::string& node) {
    const auto stacks = sides.stacks.find(node);
    return stacks != sides.stacks.end() && stacks->second.known &&
           lasting_changes(stacks->second.changes).empty();
  });
}

// --- knees of size curves ---

namespace {

// The points of a curve by launch: one fresh process measures all sizes.
using CurveLaunches = std::map<std::int64_t, std::vector<analysis::CurvePoint>>;

// The launches of one size curve on both sides.
struct Curve {
  const store::SeriesRow* series = nullptr;  // any of its
  std::set<double> sizes{};
  CurveLaunches before{};
  CurveLaunches after{};
};

// Sorts the points of a side into the launches of their curves.
void take(const std::vector<store::SidePointRow>& points, const UpgradeData& sides,
          const std::map<std::int64_t, Curve*>& curves, CurveLaunches Curve::*side) {
  for (const store::SidePointRow& point : points)
    if (const auto curve = curves.find(point.series); curve != curves.end())
      (curve->second->*side)[point.launch].push_back(
          {.bytes = sides.series.at(point.series).message_bytes, .value = point.headline});
}

// The knees of launches that measured all sizes; the others are left out.
std::vector<double> knees_of(const CurveLaunches& launches, const Curve& curve,
                             analysis::Better better) {
  std::vector<double> out;
  for (const auto& [launch, points] : launches)
    if (points.size() == curve.sizes.size())
      if (const auto knee = analysis::knee_of(points, better)) out.push_back(*knee);
  return out;
}

// A metric for each kind of curve: a pair's figures are the knees of its launches, each of which
// must have measured all sizes that any of them did, kLeastKneeSizes at least.
void add_knees(const UpgradeData& sides, const Comparison& comparison, const NodeRoles& roles,
               analysis::UpgradeRuns& out) {
  std::map<std::string, Curve> curves;
  std::map<std::int64_t, Curve*> by_series;
  for (const auto& [id, series] : sides.series) {
    if (!(series.message_bytes > 0) || !pair_of(series, roles) || comparison.left_out.contains(id))
      continue;
    Curve& curve = curves[curve_text(series)];
    curve.series = &series;
    curve.sizes.insert(series.message_bytes);
    by_series[id] = &curve;
  }
  take(sides.before, sides, by_series, &Curve::before);
  take(sides.after, sides, by_series, &Curve::after);
  std::map<std::string, analysis::MetricRuns> metrics;
  for (const auto& [text, curve] : curves) {
    if (curve.sizes.size() < analysis::kLeastKneeSizes) continue;
    const store::SeriesRow& series = *curve.series;
    const analysis::Better better = traits_of(series).better;
    analysis::PairRuns pair = *pair_of(series, roles);
    pair.before = knees_of(curve.before, curve, better);
    pair.after = knees_of(curve.after, curve, better);
    if (pair.before.empty() || pair.after.empty()) continue;
    const Launches& needed = comparison.needed.at(kind_of(series));
    pair.min_before = needed.before;
    pair.min_after = needed.after;
    analysis::MetricRuns& metric = metrics[knee_text(series)];
    metric.name = knee_text(series);
    metric.is_shape = true;
    metric.traits = {
        .unit = "bytes", .better = analysis::better_knee(better), .delta = analysis::kKneeDelta};
    metric.pairs.push_back(std::move(pair));
  }
  for (auto& [name, metric] : metrics) out.metrics.push_back(std::move(metric));
}

}  // namespace

std::map<std::string, Revisions> revised_kernels(const UpgradeData& sides) {
  return comparison_of(sides).revised;
}

namespace {

// The reason why figures of revised kernels are not compared; "" where there is none.
std::string why_revised(const std::map<std::string, Revisions>& revised) {
  std::vector<std::string> kernels;
  for (const auto& [kernel, revisions] : revised)
    kernels.push_back(
        fmt::format("{} (revision {} now, {} before)", kernel, revisions.after, revisions.before));
  if (kernels.empty()) return "";
  constexpr std::size_t kNamed = 2;
  return fmt::format(
      "another method measures {}, so that the sides are not compared; railgauge "
      "upgrades prepare measures a before side by it",
      some_of(kernels, kNamed));
}

}  // namespace

// More than one run of the after side, or an earlier attempt, makes it a repeated look. A stack
// that changed while a side was measured makes the whole verdict invalid.
analysis::UpgradeRuns runs_of(const UpgradeData& sides) {
  const NodeRoles roles{.changed = changed_names(sides.upgrade), .controls = control_nodes(sides)};
  analysis::UpgradeRuns out{.id = sides.upgrade.upgrade_id, .metrics = {}, .functions = {}};
  std::size_t after_runs = 0;
  for (const store::UpgradeRunRow& run : sides.upgrade.runs) {
    if (!run.after) continue;
    out.id += "\n" + run.run_id;
    ++after_runs;
  }
  out.again = after_runs > 1 || sides.tried_before;
  out.before_is_history = sides.upgrade.before_is_history;
  out.min_runs = kRunsASide;
  out.min_before = out.before_is_history ? kHistoryRunsBefore : kRunsASide;
  out.min_coverage = sides.min_coverage;
  const Comparison comparison = comparison_of(sides);
  out.revised = why_revised(comparison.revised);
  for (const std::string& node : roles.changed)
    if (const auto stacks = sides.stacks.find(node);
        stacks != sides.stacks.end() && !stacks->second.while_measured.empty())
      out.invalid = fmt::format("node {} was measured with two stacks on one side: {}", node,
                                stacks->second.while_measured);
  add_metrics(sides, comparison, roles, out);
  add_knees(sides, comparison, roles, out);
  add_functions(sides, roles, out);
  return out;
}

// Nodes without a role are left out: nothing about them was measured.
std::vector<analysis::ExposedNode> exposure_of(const UpgradeData& sides,
                                               const std::set<std::string>& worse) {
  std::vector<analysis::ExposedNode> out;
  const std::set<std::string> changed = changed_names(sides.upgrade);
  const std::set<std::string> controls = control_nodes(sides);
  for (const auto& [node, stacks] : sides.stacks) {
    if (!changed.contains(node) && !controls.contains(node)) continue;
    analysis::ExposedNode& exposed =
        out.emplace_back(analysis::ExposedNode{.node = node, .affected = worse.contains(node)});
    for (const store::StackChange& change : foreign_changes(stacks.changes))
      exposed.changes.insert(store::text_of(change));
    if (stacks.hardware_replaced) exposed.changes.insert(std::string(kHardwareReplaced));
  }
  return out;
}

}  // namespace railgauge
