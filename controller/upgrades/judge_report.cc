#include "controller/upgrades/judge_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/json_util.h>

#include "controller/api/contract.h"
#include "controller/stats/loss_steps.h"
#include "controller/store/rows/stack_parts.h"
#include "controller/upgrades/judge_functions.h"
#include "controller/upgrades/undo.h"
#include "controller/verdict/causes.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {

namespace {

// Nodes that got worse: those whose own loss shows or that lost a function. Where no single one
// shows, all nodes that changed.
std::set<std::string> worse_nodes(const UpgradeData& sides,
                                  const analysis::UpgradeVerdict& verdict) {
  std::set<std::string> out;
  for (const analysis::LostFunction& lost : verdict.lost) out.insert(lost.sides.node);
  for (const analysis::MetricVerdict& metric : verdict.metrics)
    if (metric.verdict == analysis::Verdict::kRegressed)
      for (const analysis::PairFlag& flag : metric.flags) {
        out.insert(flag.node);
        if (!flag.other_node.empty()) out.insert(flag.other_node);
      }
  return out.empty() ? changed_names(sides.upgrade) : out;
}

// Reports whether the change only reflects that a device is gone. Values of several devices are one
// text, "VALUE: DEVICE; VALUE: DEVICE", and the value that is left was one of them before.
bool goes_with_device(std::string_view device, const store::StackChange& change) {
  if (!store::is_of_device(device, change.part)) return false;
  return change.to == "none" || change.from.find(change.to + ": ") != std::string::npos;
}

// Replaces the changes of settings that went away with a lost device by one change of the device.
// The device is known from the stack, or from a lost endpoint where the node has others.
void merge_gone_devices(const UpgradeData& sides, const analysis::UpgradeVerdict& verdict,
                        std::vector<analysis::ExposedNode>& nodes) {
  for (const analysis::LostFunction& lost : verdict.lost) {
    if (lost.sides.outcome_after != analysis::kGone) continue;
    const auto node = std::ranges::find(nodes, lost.sides.node, &analysis::ExposedNode::node);
    if (node == nodes.end()) continue;
    const auto device =
        lost.sides.endpoint.starts_with("gpu") ? store::kGpuDevice : store::kRdmaDevice;
    if (const auto stacks = sides.stacks.find(node->node); stacks != sides.stacks.end())
      for (const store::StackChange& change : stacks->second.changes)
        if (goes_with_device(device, change)) node->changes.erase(store::text_of(change));
    node->changes.insert(store::text_of(store::gone_change(device)));
  }
}

// The changes of a cause that a person can undo; the loss of a device is not one.
std::vector<std::string> undoable(const api::UpgradeCause& cause) {
  std::vector<std::string> out;
  for (const std::string& change : cause.changes())
    if (!store::is_of_presence(change)) out.push_back(change);
  return out;
}

// The words for a change that a person would undo.
std::string undone(const std::string& change) {
  return change == kHardwareReplaced ? "the replacement of hardware" : part_of(change);
}

// The most likely change that a person can undo.
std::string first_change(const api::Upgrade& out) {
  for (const api::UpgradeCause& cause : out.causes())
    if (const auto changes = undoable(cause); !changes.empty()) return undone(changes.front());
  return "what changed";
}

// Names the node on which to look for a device that is gone.
void add_look_for(const analysis::UpgradeVerdict& verdict, api::Upgrade& out) {
  for (const analysis::LostFunction& lost : verdict.lost) {
    if (lost.sides.outcome_after != analysis::kGone) continue;
    out.add_next(fmt::format("{}/{} is gone: see railgauge preflight {}", lost.sides.node,
                             lost.sides.endpoint, lost.sides.node));
    return;
  }
}

// Names the place that lost most where no change explains the loss: other nodes with the same
// change did not lose as much, so that the node itself is the suspect.
void add_look_at(api::Upgrade& out) {
  const bool explained = std::ranges::any_of(out.causes(), &api::UpgradeCause::explains);
  if (explained || out.metrics().empty() || out.metrics(0).places().empty()) return;
  const api::JudgedPlace& place = out.metrics(0).places(0);
  const std::string either =
      place.has_or_other_end()
          ? fmt::format(" and {} (their other pairs do not show which)", place.or_other_end())
          : "";
  out.add_next(
      fmt::format("look at {}/{}{} first: others with the same change did not lose as much",
                  place.node(), place.endpoint(), either));
}

// Reports whether every open metric needs more nodes, so that no number of runs would settle it.
bool only_nodes_help(const analysis::UpgradeVerdict& verdict) {
  bool is_open = false;
  for (const analysis::MetricVerdict& metric : verdict.metrics) {
    if (metric.verdict != analysis::Verdict::kInconclusive) continue;
    if (metric.need.runs > 0 || metric.need.nodes == 0) return false;
    is_open = true;
  }
  return is_open;
}

}  // namespace

// Scores each change by how many nodes with it got worse and how many without it.
void add_causes(const UpgradeData& sides, const analysis::UpgradeVerdict& verdict,
                api::Upgrade& out) {
  if (verdict.verdict != analysis::Verdict::kRegressed) return;
  auto exposure = exposure_of(sides, worse_nodes(sides, verdict));
  merge_gone_devices(sides, verdict, exposure);
  for (const analysis::Cause& cause : analysis::likely_causes(exposure))
    *out.add_causes() = cause_message(cause);
}

// Controls exclude a common cause; equal hardware and settings exclude those.
void add_excluded(const UpgradeData& sides, const analysis::UpgradeVerdict& verdict,
                  api::Upgrade& out) {
  std::size_t controls = 0;
  for (const analysis::MetricVerdict& metric : verdict.metrics)
    if (metric.controlled) controls = std::max(controls, metric.controls);
  if (controls > 0)
    out.add_excluded(fmt::format(
        "a cause common to all: {} nodes that did not change were measured in the same runs, and "
        "what they moved by is subtracted",
        controls));
  bool replaced = std::ranges::any_of(verdict.lost, [](const analysis::LostFunction& lost) {
    return lost.sides.outcome_after == analysis::kGone;
  });
  bool settings = false;
  bool known = true;
  for (const auto& [node, stacks] : sides.stacks) {
    replaced = replaced || stacks.hardware_replaced;
    settings = settings || stacks.before.settings != stacks.after.settings;
    known = known && stacks.known;
  }
  if (!known) return;  // nothing can be excluded for an unknown stack
  if (!replaced) out.add_excluded("hardware: no NIC or GPU was replaced in between");
  if (!settings) out.add_excluded("settings: none of those that are watched changed");
}

std::string continue_command(const std::string& upgrade_id, double min_coverage) {
  return fmt::format("railgauge upgrades extend {}{}", upgrade_id,
                     min_coverage < 1 ? fmt::format(" --min-coverage {:g}", min_coverage) : "");
}

// The steps differ by verdict. A regression with the old stack back is not software, so that no
// undo is proposed.
void add_next(const UpgradeData& sides, const analysis::UpgradeVerdict& verdict,
              api::Upgrade& out) {
  const std::string nodes = fmt::format("{}", fmt::join(out.nodes(), ","));
  switch (verdict.verdict) {
    case analysis::Verdict::kPass:
      return;
    case analysis::Verdict::kRegressed:
      add_look_for(verdict, out);
      if (is_same_stack(sides)) {
        out.add_next(
            fmt::format("railgauge preflight {}: the stack is as it was, so look at what "
                        "is not software",
                        nodes));
        return;
      }
      add_look_at(out);
      for (const api::UpgradeCause& cause : out.causes())
        if (const auto changes = undoable(cause); changes.size() > 1 && cause.separators_size() > 0)
          out.add_next(fmt::format("undo {} on {} alone, and gate again: that separates it from {}",
                                   undone(changes[0]), cause.separators(0), undone(changes[1])));
      out.add_next(
          fmt::format("undo {} on one of the nodes, then: railgauge upgrades gate --nodes "
                      "NODE",
                      first_change(out)));
      return;
    case analysis::Verdict::kInconclusive:
      if (!revised_kernels(sides).empty()) break;  // no further run of the after side settles it
      out.add_next(
          only_nodes_help(verdict)
              ? "more runs would not settle it: upgrade and gate more nodes together, with more "
                "controls on both sides (railgauge upgrades prepare --controls SET)"
              : fmt::format("measure more, as long as that may settle it: {}",
                            continue_command(sides.upgrade.upgrade_id, sides.min_coverage)));
      return;
    case analysis::Verdict::kInvalid:
      break;
  }
  out.add_next(
      fmt::format("measure both sides: railgauge upgrades prepare --nodes {} before the "
                  "next upgrade",
                  nodes));
}

namespace {

// The store keeps fractions; the report has percent.
constexpr double kPercent = 100;

// One metric with its interval, coverage and the places that lost more than the bound.
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

// Adds what single pairs of the metric could show: those with like losses together, the smallest
// loss first, then those that show nothing.
void add_sight(const analysis::MetricVerdict& metric, api::Upgrade& out) {
  std::map<double, std::vector<std::string>> by_loss;
  for (const analysis::PairSight& pair : metric.sight) {
    const double loss = analysis::rounded_up_loss(pair.loss.value_or(0));
    by_loss[loss > 0 ? loss : std::numeric_limits<double>::infinity()].push_back(pair.name);
  }
  for (const auto& [loss, names] : by_loss) {
    api::PlaceSight& sight = *out.add_sight();
    sight.set_metric(metric.name);
    sight.set_places(fold_names(names));
    sight.set_count(static_cast<std::uint32_t>(names.size()));
    if (std::isfinite(loss)) sight.set_smallest_loss_percent(kPercent * loss);
  }
}

// The order of verdicts in a report, the gravest first.
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

// The metrics by verdict, then by loss in units of their bound. The pointers are into `verdict`.
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

// Adds each run's figures of the changed nodes as a fraction of their level before, in the order of
// runs: the mean over pairs that measured in that run.
void add_levels(const analysis::MetricRuns& metric, api::Upgrade& out) {
  std::map<std::size_t, std::pair<double, double>> before;  // sum and count by run
  std::map<std::size_t, std::pair<double, double>> after;
  for (const analysis::PairRuns& pair : metric.pairs) {
    if (!pair.changed) continue;
    std::vector<double> levels;  // without those of launches that lack the figure
    std::ranges::copy_if(pair.before, std::back_inserter(levels),
                         [](double value) { return std::isfinite(value); });
    const double level = upper_median(std::move(levels));
    if (!(level > 0)) continue;
    const auto add = [level](const std::vector<double>& values, auto& sums) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        // A run that is missing.
        if (!std::isfinite(values[i])) continue;
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

}  // namespace

// Copies the row; a field that is not set yet stays absent in JSON.
api::Upgrade summary_of(const store::UpgradeRow& row) {
  auto out = new_document<api::Upgrade>();
  out.set_upgrade_id(row.upgrade_id);
  out.set_state(std::string(text_of(row.state)));
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

// The order matters: causes and metrics before next steps, which refer to them.
api::Upgrade report_of(const UpgradeData& sides, const analysis::UpgradeRuns& runs,
                       const analysis::UpgradeVerdict& verdict, double since) {
  api::Upgrade out = summary_of(sides.upgrade);
  out.set_state(std::string(text_of(store::UpgradeState::kJudged)));
  out.set_verdict(std::string(word(verdict.verdict)));
  if (!verdict.kind.empty()) out.set_kind(verdict.kind);
  if (!verdict.reason.empty()) out.set_reason(verdict.reason);
  if (since > 0) out.set_since(rfc3339(since));
  const auto sorted = worst_first(verdict);
  for (const analysis::MetricVerdict* metric : sorted) *out.add_metrics() = to_api(*metric);
  for (const analysis::MetricVerdict* metric : sorted) add_sight(*metric, out);
  out.set_nights_of_levels(static_cast<std::uint32_t>(sides.nights_of_levels));
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
  add_notes(sides, out);
  add_next(sides, verdict, out);
  if (!sorted.empty())
    for (const analysis::MetricRuns& metric : runs.metrics)
      if (metric.name == sorted.front()->name) add_levels(metric, out);
  const auto is_synthetic = [](const store::SidePointRow& point) { return point.synthetic; };
  out.set_synthetic(std::ranges::any_of(sides.before, is_synthetic) ||
                    std::ranges::any_of(sides.after, is_synthetic));
  return out;
}

// --- notes ---

namespace {

// Names that a sentence lists; the rest is a number.
constexpr std::size_t kNamedNodes = 3;

// Adds a note with the names, if there are any.
void add_list(std::string_view about, const std::vector<std::string>& names, api::Upgrade& out) {
  if (!names.empty()) out.add_notes(fmt::format("{}: {}", about, some_of(names, kNamedNodes)));
}

// Notes that Railgauge itself changed. Its version is never a suspect.
void add_own_changes(const UpgradeData& sides, api::Upgrade& out) {
  for (const auto& [node, stacks] : sides.stacks)
    for (const store::StackChange& change : stacks.changes)
      if (change.part == kOwnPart) {
        out.add_notes(
            fmt::format("Railgauge itself changed ({}, first on {}): it measures, and is "
                        "not among the suspects",
                        store::text_of(change), node));
        return;
      }
}
// Notes kernels whose revision changed: another revision is another method, so that its figures
// form other series and are not compared.
void add_revisions(const UpgradeData& sides, api::Upgrade& out) {
  for (const auto& [kernel, revisions] : revised_kernels(sides))
    out.add_notes(
        fmt::format("{} has revision {} now, {} before: another method, whose figures "
                    "are not compared and not blamed on the upgrade",
                    kernel, revisions.after, revisions.before));
}

// The changes of a control node, which must not change.
std::string why_dropped(const NodeStacks& stacks) {
  if (!stacks.while_measured.empty()) return stacks.while_measured;
  if (stacks.hardware_replaced) return std::string(kHardwareReplaced);
  constexpr std::size_t kTold = 2;
  return fmt::format(
      "{}", fmt::join(store::told_changes(store::texts_of(lasting_changes(stacks.changes)), kTold),
                      ", "));
}

// Notes the nodes that were meant as controls and are not used, by reason.
void add_dropped_controls(const UpgradeData& sides, api::Upgrade& out) {
  const std::set<std::string> kept = control_nodes(sides);
  const std::set<std::string> missed = absent_nodes(sides);
  std::vector<std::string> dropped;
  std::vector<std::string> unknown;
  std::vector<std::string> absent;
  const std::set<std::string> lost = lost_controls(sides);
  add_list(
      "not used as controls, since they stopped working while the after side was measured, which "
      "is not blamed on the upgrade",
      {lost.begin(), lost.end()}, out);
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
  add_list("not used as controls, since they were busy or away after the upgrade", absent, out);
  add_list("not used as controls, since their stack is not known", unknown, out);
  add_list("not used as controls, since they changed too", dropped, out);
}

// Notes changed nodes without a preflight of before: a lost check of theirs cannot be seen.
void add_unchecked(const UpgradeData& sides, api::Upgrade& out) {
  std::vector<std::string> unchecked;
  for (const auto& [node, checks] : sides.checks)
    if (checks.before.empty()) unchecked.push_back(node);
  add_list("no preflight of before the upgrade, so its checks are not compared", unchecked, out);
}

// Notes endpoints of changed nodes that no task of either side used: the verdict does not cover
// them.
void add_unasked(const UpgradeData& sides, api::Upgrade& out) {
  if (sides.tasks_after.empty()) return;
  std::set<std::string> used;
  for (const auto* side : {&sides.tasks_before, &sides.tasks_after})
    for (const store::SideTaskRow& task : *side)
      for (std::size_t rank = 0; rank < task.nodes.size(); ++rank)
        add_used(task.nodes[rank], task.endpoints[rank], used);
  std::vector<std::string> unasked;
  for (const store::EndpointStateRow& state : sides.endpoints)
    if (const std::string name = state.node + "/" + state.endpoint;
        !is_away(state) && !used.contains(name))
      unasked.push_back(name);
  add_list("no task used, so that nothing is said of", unasked, out);
}

}  // namespace

void add_notes(const UpgradeData& sides, api::Upgrade& out) {
  if (is_same_stack(sides))
    out.add_notes(
        "the nodes have the stack of the before side again: it is compared with its own figures");
  add_dropped_controls(sides, out);
  add_unchecked(sides, out);
  add_unasked(sides, out);
  add_own_changes(sides, out);
  add_revisions(sides, out);
  if (sides.nights_of_levels > 0)
    out.add_notes(fmt::format(
        "no night measured all of these pairs: the before side of those is put together from the "
        "levels of their ports on {} nights, so that a loss of all nodes alike is not seen",
        sides.nights_of_levels));
}

// The conversion of a message that is in memory cannot fail.
std::string json_of(const api::Upgrade& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  static_cast<void>(google::protobuf::util::MessageToJsonString(report, &text, options));
  return text;
}

std::optional<api::Upgrade> report_from(const std::string& text) {
  api::Upgrade report;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(text, &report, options).ok())
    return std::nullopt;
  return report;
}

}  // namespace railgauge
