#include "controller/upgrades/same_stack.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "controller/upgrades/upgrade_stack.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kEpochsLooked = 50;  // of a node, newest first
constexpr double kDaySeconds = 86'400;

struct Stay {  // with one stack; unix seconds
  std::int64_t stack = 0;
  double from = 0;
  double until = 0;
};

bool is_same(const store::EpochRow& a, const store::EpochRow& b) {
  return moved_to(a.parts, b.parts).empty();
}

// The node's stay with its present stack before the one that it left; absent: there was none, or
// hardware was replaced since.
std::optional<Stay> earlier_stay(const std::vector<store::EpochRow>& epochs) {
  bool has_left = false;
  std::optional<Stay> out;
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    const bool same = is_same(epochs[i], epochs[0]);
    if (out && !same) break;
    has_left = has_left || !same;
    if (has_left && same) {
      if (!out) out = Stay{.stack = epochs[i].stack, .until = epochs[i - 1].valid_from};
      out->from = epochs[i].valid_from;
    }
    if (epochs[i].cause == "hardware_replaced") break;
  }
  return out;
}

// Since when the node has had its stack.
double unchanged_since(const std::vector<store::EpochRow>& epochs) {
  double since = std::numeric_limits<double>::max();
  for (const store::EpochRow& epoch : epochs) {
    if (!is_same(epoch, epochs.front())) break;
    since = epoch.valid_from;
    if (epoch.cause == "hardware_replaced") break;
  }
  return since;
}

}  // namespace

Result<std::optional<EarlierSelf>> earlier_self(const store::Store& store,
                                                const store::UpgradeRow& upgrade) {
  EarlierSelf out{.row = upgrade, .until = std::numeric_limits<double>::max()};
  double from = 0;
  std::vector<std::string> ids;
  for (store::UpgradeNodeRow& node : out.row.nodes) {
    if (!node.changed) continue;
    const auto stay =
        earlier_stay(RG_TRY(store.read(store::read_epochs, node.node_id, kEpochsLooked)));
    if (!stay) return std::optional<EarlierSelf>();
    node.stack_before = stay->stack;
    from = std::max(from, stay->from);
    out.until = std::min(out.until, stay->until);
    ids.push_back(node.node_id);
  }
  if (ids.empty()) return std::optional<EarlierSelf>();
  from = std::max(from, out.until - kHistoryDays * kDaySeconds);
  out.row.before_is_history = true;
  std::erase_if(out.row.runs, [](const store::UpgradeRunRow& run) { return !run.after; });
  std::vector<store::UpgradeRunRow> runs;
  for (const std::string& run :
       RG_TRY(store.read(store::read_runs_of_nodes, ids, from, out.until, kHistoryRuns)))
    runs.push_back({.run_id = run});
  out.row.runs.insert(out.row.runs.begin(), runs.begin(), runs.end());
  const double begun =
      runs.empty() ? out.until : RG_TRY(store.run_summary(runs.front().run_id)).run.created_at;
  std::vector<store::UpgradeNodeRow> kept;
  for (store::UpgradeNodeRow& node : out.row.nodes) {
    if (node.changed || unchanged_since(RG_TRY(
                            store.read(store::read_epochs, node.node_id, kEpochsLooked))) <= begun)
      kept.push_back(std::move(node));
  }
  out.row.nodes = std::move(kept);
  return std::optional(std::move(out));
}

Result<bool> came_back(const store::Store& store, const store::UpgradeRow& upgrade) {
  double measured = 0;  // when the newest run of the before side was begun
  for (const store::UpgradeRunRow& run : upgrade.runs)
    if (!run.after)
      measured = std::max(measured, RG_TRY(store.run_summary(run.run_id)).run.created_at);
  for (const store::UpgradeNodeRow& node : upgrade.nodes) {
    if (!node.changed) continue;
    const auto stay =
        earlier_stay(RG_TRY(store.read(store::read_epochs, node.node_id, kEpochsLooked)));
    if (!stay || stay->until < measured) return false;
  }
  return true;
}

}  // namespace railgauge
