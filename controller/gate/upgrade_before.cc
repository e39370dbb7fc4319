// Where an upgrade's before side comes from: what was prepared, else what was measured earlier.
#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/gate/upgrade_desk.h"
#include "controller/upgrades/same_stack.h"

namespace railgauge {
namespace {

constexpr double kDaySeconds = 86'400;
constexpr std::uint32_t kUpgradesLooked = 500;
constexpr std::uint32_t kEpochsLooked = 50;

}  // namespace

// Whether the row's upgrade is over: it passed, and its nodes have gone on to another stack.
Result<bool> UpgradeDesk::is_over(const store::UpgradeRow& row) {
  if (row.verdict != "pass") return false;
  for (const store::UpgradeNodeRow& node : row.nodes) {
    if (!node.changed || node.stack_after == 0) continue;
    const auto epochs = RG_TRY(store_.epochs(node.node_id, 1));
    const store::StackParts then = RG_TRY(store_.stack_parts(node.stack_after));
    if (!epochs.empty() && !moved_to(then, epochs.front().parts).empty()) return true;
  }
  return false;
}

// The newest that was made for just these nodes, and is not over.
Result<std::optional<store::UpgradeRow>> UpgradeDesk::prepared_for(
    const std::vector<std::string>& nodes) {
  const std::set<std::string> wanted(nodes.begin(), nodes.end());
  for (store::UpgradeRow& row : RG_TRY(store_.list_upgrades(kUpgradesLooked))) {
    std::set<std::string> changed;
    for (const store::UpgradeNodeRow& node : row.nodes)
      if (node.changed) changed.insert(node.node);
    if (changed != wanted || row.before_is_history) continue;
    if (RG_TRY(is_over(row))) return std::nullopt;
    return std::optional(std::move(row));
  }
  return std::nullopt;
}

// The node's newest stack that is another than its present one, and the time it had it.
Result<UpgradeDesk::Earlier> UpgradeDesk::earlier_stack(const std::string& name,
                                                        const std::string& node_id) {
  const auto epochs = RG_TRY(store_.epochs(node_id, kEpochsLooked));
  Earlier out;
  for (std::size_t i = 1; i < epochs.size(); ++i) {
    const bool same = moved_to(epochs[i].parts, epochs[0].parts).empty();
    if (out.stack == 0 && same) continue;
    if (out.stack == 0) {
      out.stack = epochs[i].stack;
      out.until = epochs[i - 1].valid_from;
    } else if (!moved_to(epochs[i].parts, RG_TRY(store_.stack_parts(out.stack))).empty()) {
      break;  // what was measured before is of a third stack
    }
    out.from = epochs[i].valid_from;
    if (epochs[i].cause == "hardware_replaced") break;
  }
  if (out.stack != 0) return out;
  return fail(Code::kFailedPrecondition,
              fmt::format("no before side: node {} has had no other stack since it is known; "
                          "railgauge upgrades prepare --nodes SET measures one before the upgrade",
                          name));
}

Result<double> UpgradeDesk::unchanged_since(const std::string& node_id) {
  const auto epochs = RG_TRY(store_.epochs(node_id, kEpochsLooked));
  double since = std::numeric_limits<double>::max();
  for (const store::EpochRow& epoch : epochs) {
    if (!moved_to(epoch.parts, epochs.front().parts).empty()) break;
    since = epoch.valid_from;
    if (epoch.cause == "hardware_replaced") break;
  }
  return since;
}

// Runs of the last weeks before the first of the nodes changed, while all had the stack that they
// had then.
Result<store::UpgradeRow> UpgradeDesk::from_history(const std::vector<std::string>& nodes,
                                                    const api::GateRequest& request,
                                                    const Infos& infos, const std::string& who) {
  store::UpgradeRow row{.suite = suite_or_default(request.suite()),
                        .requested_by = who,
                        .created_at = fleet::unix_seconds(),
                        .before_is_history = true};
  double until = std::numeric_limits<double>::max();
  double from = 0;
  std::vector<std::string> ids;
  for (const std::string& name : nodes) {
    if (!infos.contains(name))
      return fail(Code::kFailedPrecondition, fmt::format("node {} has only just come", name));
    const std::string& id = infos.at(name).node_id();
    const Earlier earlier = RG_TRY(earlier_stack(name, id));
    until = std::min(until, earlier.until);
    from = std::max(from, earlier.from);
    ids.push_back(id);
    row.nodes.push_back(
        {.node_id = id, .node = name, .changed = true, .stack_before = earlier.stack});
  }
  from = std::max(from, until - kHistoryDays * kDaySeconds);
  for (const std::string& run : RG_TRY(store_.runs_of_nodes(ids, from, until, kHistoryRuns)))
    row.runs.push_back({.run_id = run});
  if (row.runs.empty())
    return fail(Code::kFailedPrecondition,
                fmt::format("no before side: nothing was measured on {} in the {:.0f} days before "
                            "the stack changed; railgauge upgrades prepare --nodes SET measures "
                            "it before the next upgrade",
                            fmt::join(nodes, ", "), kHistoryDays));
  // What came, or changed, before anything of that was measured is as good a control as any.
  const double begun = RG_TRY(store_.run_summary(row.runs.front().run_id)).run.created_at;
  from = std::max(from, begun);
  const Earlier before{.stack = row.nodes.front().stack_before, .from = from, .until = until};
  for (const std::string& name :
       RG_TRY(choose_controls(nodes, request.control_set(), infos, before))) {
    const std::string& id = infos.at(name).node_id();
    if (RG_TRY(unchanged_since(id)) <= from)  // also of those that somebody named
      row.nodes.push_back({.node_id = id,
                           .node = name,
                           .stack_before = RG_TRY(store_.epochs(id, 1)).front().stack});
  }
  row.upgrade_id = fmt::format("h{:.0f}-{}", row.created_at * 1e3, nodes.front());
  return row;
}

}  // namespace railgauge
