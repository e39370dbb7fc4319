#include "controller/upgrades/judge_advice.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/store/rows/stack_parts.h"
#include "controller/verdict/causes.h"

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
  return out.empty() ? changed_nodes(sides) : out;
}

// Whether the change only reflects that a device is gone. Values of several devices are one text,
// "VALUE: DEVICE; VALUE: DEVICE", and the value that is left was one of them before.
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

// Whether every open metric needs more nodes, so that no number of runs would settle it.
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
  return fmt::format("railgauge upgrades gate --continue {}{}", upgrade_id,
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

}  // namespace railgauge
