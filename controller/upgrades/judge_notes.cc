#include "controller/upgrades/judge_notes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/store/rows/stack_parts.h"
#include "controller/upgrades/judge_functions.h"

namespace railgauge {
namespace {

constexpr std::size_t kNamed = 3;  // of many, in a sentence

std::string some_of(const std::vector<std::string>& names) {
  std::string text = fmt::format(
      "{}",
      fmt::join(names.begin(),
                names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)), ", "));
  if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
  return text;
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

// What of the changed nodes no task of either side asked for: a verdict is not about it.
void add_unasked(const Sides& sides, api::Upgrade& out) {
  if (sides.tasks_after.empty()) return;
  std::set<std::string> used;
  for (const auto* side : {&sides.tasks_before, &sides.tasks_after})
    for (const store::SideTaskRow& task : *side)
      for (std::size_t rank = 0; rank < task.nodes.size(); ++rank)
        add_used(task.nodes[rank], task.endpoints[rank], used);
  std::vector<std::string> unasked;
  for (const store::EndpointStateRow& state : sides.endpoints)
    if (const std::string name = state.node + "/" + state.endpoint;
        !state.gone && state.state == "active" && !used.contains(name))
      unasked.push_back(name);
  if (!unasked.empty())
    out.add_notes(fmt::format("no task used, so that nothing is said of: {}", some_of(unasked)));
}

}  // namespace

void add_notes(const Sides& sides, api::Upgrade& out) {
  if (is_same_stack(sides))
    out.add_notes(
        "the nodes have the stack of the before side again: it is held against its own figures");
  add_dropped_controls(sides, out);
  add_unchecked(sides, out);
  add_unasked(sides, out);
  add_own_changes(sides, out);
  add_revisions(sides, out);
}

}  // namespace railgauge
