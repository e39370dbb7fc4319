#include "controller/upgrades/upgrade_reading.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/history/pair_figures.h"
#include "controller/parts/kept/levels_bytes.h"
#include "controller/plan/suite/suite.h"
#include "controller/upgrades/level_figures.h"
#include "controller/upgrades/side_figures.h"
#include "controller/upgrades/upgrade_stack.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {
namespace {

// Stacks of a node that are read, the newest first.
constexpr std::uint32_t kEpochsLooked = 50;
constexpr double kSecondsPerDay = 86'400;

// Reports whether nothing differs that makes an upgrade.
bool is_same(const store::EpochRow& a, const store::EpochRow& b) {
  return moved_to(a.parts, b.parts).empty();
}

// The node's stay with its present stack before the stack that it left. Absent: there was none, or
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
    if (epochs[i].cause == kReplacedCause) break;
  }
  return out;
}

}  // namespace

// Replaced hardware ends the stretch as a change of the stack does.
double unchanged_since(const std::vector<store::EpochRow>& epochs) {
  double since = std::numeric_limits<double>::max();
  for (const store::EpochRow& epoch : epochs) {
    if (!is_same(epoch, epochs.front())) break;
    since = epoch.valid_from;
    if (epoch.cause == kReplacedCause) break;
  }
  return since;
}

// The time is the intersection over all changed nodes, cut to kHistoryDays, so that every run of it
// measured all nodes with that stack.
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
  from = std::max(from, out.until - kHistoryDays * kSecondsPerDay);
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

// A node that left the stack before the before side was measured has not come back since.
Result<bool> came_back(const store::Store& store, const store::UpgradeRow& upgrade) {
  const double measured = RG_TRY(measured_before(store, upgrade));
  for (const store::UpgradeNodeRow& node : changed_nodes(upgrade)) {
    const auto stay =
        earlier_stay(RG_TRY(store.read(store::read_epochs, node.node_id, kEpochsLooked)));
    if (!stay || stay->until < measured) return false;
  }
  return true;
}

// --- facts of both sides ---

namespace {

// How much earlier than the first run of the after side its preflight may be; seconds. A person's
// own preflight may be as early.
constexpr double kAskedBeforeSeconds = 120;
// A time that no run reaches; unix seconds.
constexpr double kNever = 1e12;

// The stacks of both sides by their own ids: an epoch whose unknown parts become known gets another
// stack.
Result<NodeStacks> stacks_of(const store::Store& store, const store::UpgradeNodeRow& node,
                             double measured_before) {
  NodeStacks out;
  const auto epochs = RG_TRY(store.read(store::read_epochs, node.node_id, kEpochsLooked));
  const std::int64_t now = node.stack_after != 0 ? node.stack_after
                           : epochs.empty()      ? 0
                                                 : epochs.front().stack;
  out.known = node.stack_before != 0 && now != 0;
  if (node.stack_before != 0)
    out.before = RG_TRY(store.read(store::read_stack_parts, node.stack_before));
  if (now != 0) out.after = RG_TRY(store.read(store::read_stack_parts, now));
  if (out.known) out.changes = store::stack_changes(out.before, out.after);
  for (const store::EpochRow& epoch : epochs)
    if (epoch.valid_from > measured_before && epoch.cause == kReplacedCause)
      out.hardware_replaced = true;
  return out;
}

// The times in which each side was measured. Runs of the before side are separate, as nights are;
// runs added to the after side extend it.
Result<std::vector<Stay>> stretches_of(const store::Store& store,
                                       const store::UpgradeRow& upgrade) {
  std::vector<Stay> out;
  std::optional<Stay> after;
  for (const store::UpgradeRunRow& run : upgrade.runs) {
    const store::RunRow row = RG_TRY(store.run_summary(run.run_id)).run;
    const Stay one{.from = row.created_at, .until = has_ended(row) ? row.ended_at : kNever};
    if (!run.after)
      out.push_back(one);
    else if (!after)
      after = one;
    else
      after->until = std::max(after->until, one.until);
  }
  if (after) out.push_back(*after);
  return out;
}

// The changes on a node while a side was measured, which make its figures belong to two stacks; ""
// for none.
Result<std::string> changed_within(const store::Store& store, const std::string& node_id,
                                   const std::vector<Stay>& stretches) {
  const auto epochs = RG_TRY(store.read(store::read_epochs, node_id, kEpochsLooked));
  for (std::size_t i = 0; i + 1 < epochs.size(); ++i) {
    const double at = epochs[i].valid_from;
    const auto moved = lasting_changes(store::stack_changes(epochs[i + 1].parts, epochs[i].parts));
    for (const Stay& stretch : stretches)
      if (!moved.empty() && at > stretch.from && at < stretch.until)
        return fmt::format("{} at {}", fmt::join(store::texts_of(moved), ", "), rfc3339(at));
  }
  return std::string();
}

// The ids of one side's runs, oldest first.
std::vector<std::string> runs_of_side(const store::UpgradeRow& upgrade, bool after) {
  std::vector<std::string> ids;
  for (const store::UpgradeRunRow& run : upgrade.runs)
    if (run.after == after) ids.push_back(run.run_id);
  return ids;
}

// Since when the changed nodes have their present stack, by the first of them; unix seconds, 0: not
// known.
Result<double> present_since(const store::Store& store, const UpgradeData& sides) {
  double since = std::numeric_limits<double>::max();
  for (const store::UpgradeNodeRow& node : changed_nodes(sides.upgrade)) {
    const auto epochs = RG_TRY(store.read(store::read_epochs, node.node_id, kEpochsLooked));
    double own = since;
    for (const store::EpochRow& epoch : epochs) {
      if (!lasting_changes(store::stack_changes(epoch.parts, epochs.front().parts)).empty()) break;
      own = epoch.valid_from;
    }
    since = std::min(since, own);
  }
  return since == std::numeric_limits<double>::max() ? 0 : since;
}

// Reports whether runs of other upgrades measured the changed nodes since then. A gate that is
// repeated until it passes gives chance as many tries.
Result<bool> tried_before(const store::Store& store, const store::UpgradeRow& upgrade,
                          const std::vector<std::string>& changed, double since) {
  if (!(since > 0)) return false;
  constexpr std::uint32_t kRuns = 100;
  for (const std::string& id :
       RG_TRY(store.read(store::read_runs_of_nodes, changed, since, kNever, kRuns))) {
    if (std::ranges::find(upgrade.runs, id, &store::UpgradeRunRow::run_id) != upgrade.runs.end())
      continue;
    if (RG_TRY(store.run_summary(id)).run.trigger == "upgrade") return true;
  }
  return false;
}

// The bounds that the newest after run's suite states, else those of the before run. A suite that
// cannot be read any more states none.
std::map<std::string, double> bounds_of(const store::Store& store,
                                        const store::UpgradeRow& upgrade) {
  std::map<std::string, double> bounds;
  for (const store::UpgradeRunRow& run : upgrade.runs) {
    if (!run.after && upgrade.before_is_history) continue;
    const auto text = store.read(store::read_suite_text, run.run_id);
    if (!text) continue;
    const plan::SuiteReading reading = plan::read_suite(*text, run.run_id, {});
    if (reading.suite) bounds = reading.suite->bounds;
  }
  return bounds;
}

// The newest preflight before the change, and the newest since the after side began.
Result<NodeChecks> checks_of(const store::Store& store, const store::UpgradeRow& upgrade,
                             const store::UpgradeNodeRow& node, double since) {
  NodeChecks out;
  if (!(since > 0)) return out;
  const auto before = store.read(store::read_preflight_between, node.node_id,
                                 since - kCheckDays * kSecondsPerDay, since);
  if (!before) return out;
  out.before = before->checks;
  double from = since;
  for (const store::UpgradeRunRow& run : upgrade.runs)
    if (run.after) {  // it is asked for when the first run of the after side begins
      from = RG_TRY(store.run_summary(run.run_id)).run.created_at - kAskedBeforeSeconds;
      break;
    }
  if (const auto after =
          store.read(store::read_preflight_between, node.node_id, std::max(since, from), kNever))
    out.after = after->checks;
  return out;
}

// The levels of a run by one series; absent: it has none, or damaged ones.
Result<std::optional<LeveledNight>> leveled_night(const store::Store& store,
                                                  const std::string& run_id,
                                                  const PairSeries& series) {
  const store::PartLevelsRow key{.run_id = run_id,
                                 .kernel = series.kernel,
                                 .metric = series.metric,
                                 .meaning = series.meaning,
                                 .message_bytes = series.message_bytes};
  const auto rows = store.read(store::read_part_levels, key, 1);
  if (!rows && rows.error().code != Code::kDataLoss) return tl::unexpected(rows.error());
  if (!rows || rows->empty() || rows->back().run_id != run_id) return std::optional<LeveledNight>();
  auto levels = levels_of_bytes(rows->back().body);
  if (!levels) return std::optional<LeveledNight>();
  return std::optional(
      LeveledNight{.run_id = run_id, .at = rows->back().created_at, .levels = std::move(*levels)});
}

// Whether a night of one kind of memory measured GPUs: its matrices know.
bool measured_gpus_alone(const store::Store& store, const std::string& run_id,
                         const PairSeries& series) {
  const auto matrix = store.pair_matrix({.run_id = run_id,
                                         .metric = series.metric,
                                         .message_bytes = series.message_bytes,
                                         .kernel = series.kernel,
                                         .meaning = series.meaning});
  return matrix && !matrix->endpoints.empty() && memory_of_row(matrix->endpoints.front()) == "gpu";
}

// Pairs that no night measured twice get their before side from the levels of parts.
Status add_level_figures(const store::Store& store, UpgradeData& sides) {
  const std::set<std::string> kinds = kinds_without_before(sides);
  if (kinds.empty()) return {};
  const PortMap ports = RG_TRY(read_ports(store, {}));
  const RailOf rail_of = [&](const std::string& node, const std::string& port) {
    return ports.rail(node, port);
  };
  std::map<PairSeries, std::vector<LeveledNight>> nights;
  for (const std::string& kind : kinds) {
    const auto one = std::ranges::find_if(
        sides.series, [&](const auto& entry) { return kind_of(entry.second) == kind; });
    const PairSeries series = *level_series_of(one->second);
    const auto [known, is_new] = nights.try_emplace(series);
    for (const std::string& run_id :
         is_new ? runs_of_side(sides.upgrade, false) : std::vector<std::string>{})
      if (auto night = RG_TRY(leveled_night(store, run_id, series)))
        known->second.push_back(std::move(*night));
    if (known->second.empty()) continue;
    if (is_new && !known->second.back().levels.has_gpu) {
      const bool is_gpu = measured_gpus_alone(store, known->second.back().run_id, series);
      for (LeveledNight& night : known->second) night.base_is_gpu = is_gpu;
    }
    sides.nights_of_levels =
        std::max(sides.nights_of_levels, take_level_figures(known->second, rail_of, kind, sides));
  }
  return {};
}

}  // namespace

// The store keeps the state of a run as text.
bool has_ended(const store::RunRow& run) { return run.state == store::RunState::kEnded; }

Result<double> measured_before(const store::Store& store, const store::UpgradeRow& upgrade) {
  double at = 0;
  for (const store::UpgradeRunRow& run : upgrade.runs)
    if (!run.after) at = std::max(at, RG_TRY(store.run_summary(run.run_id)).run.created_at);
  return at;
}

// Searches the epochs of each changed node after the before side for the first lasting change.
Result<double> since_when(const store::Store& store, const UpgradeData& sides) {
  double since = std::numeric_limits<double>::max();
  const double before = RG_TRY(measured_before(store, sides.upgrade));
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) {
    const auto stacks = sides.stacks.find(node.node);
    if (!node.changed || stacks == sides.stacks.end()) continue;
    for (const store::EpochRow& epoch :
         RG_TRY(store.read(store::read_epochs, node.node_id, kEpochsLooked)))
      if (epoch.valid_from > before &&
          !lasting_changes(store::stack_changes(stacks->second.before, epoch.parts)).empty())
        since = std::min(since, epoch.valid_from);
  }
  return since == std::numeric_limits<double>::max() ? 0 : since;
}

Result<UpgradeData> read_upgrade_data(const store::Store& store, const std::string& upgrade_id) {
  return read_upgrade_data(store, RG_TRY(store.read(store::read_upgrade, upgrade_id)));
}

// Series are read once each, although both sides have many points of them.
Result<UpgradeData> read_upgrade_data(const store::Store& store, store::UpgradeRow upgrade) {
  UpgradeData sides{.upgrade = std::move(upgrade)};
  std::vector<std::string> changed;
  std::vector<std::string> roles;
  const double before_at = RG_TRY(measured_before(store, sides.upgrade));
  const std::vector<Stay> stretches = RG_TRY(stretches_of(store, sides.upgrade));
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) {
    NodeStacks& stacks = sides.stacks[node.node] = RG_TRY(stacks_of(store, node, before_at));
    stacks.while_measured = RG_TRY(changed_within(store, node.node_id, stretches));
    roles.push_back(node.node_id);
    if (node.changed) changed.push_back(node.node_id);
  }
  sides.endpoints = RG_TRY(store.read(store::read_endpoint_states, changed));
  const std::vector<std::string> before = runs_of_side(sides.upgrade, false);
  const std::vector<std::string> after = runs_of_side(sides.upgrade, true);
  sides.before = RG_TRY(store.read(store::read_side_points, before, roles));
  sides.after = RG_TRY(store.read(store::read_side_points, after, roles));
  sides.tasks_before = RG_TRY(store.read(store::read_side_tasks, before, roles));
  sides.tasks_after = RG_TRY(store.read(store::read_side_tasks, after, roles));
  for (const auto* side : {&sides.before, &sides.after})
    for (const store::SidePointRow& point : *side)
      if (!sides.series.contains(point.series))
        sides.series[point.series] = RG_TRY(store.read(store::read_one_series, point.series));
  if (sides.upgrade.before_is_history) RG_TRY_OK(add_level_figures(store, sides));
  sides.bounds = bounds_of(store, sides.upgrade);
  const double since = RG_TRY(since_when(store, sides));
  // Figures of another stack in between do not count as a look at this one.
  const double tried_since = since > 0 ? std::max(since, RG_TRY(present_since(store, sides))) : 0;
  sides.tried_before = RG_TRY(tried_before(store, sides.upgrade, changed, tried_since));
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes)
    if (node.changed)
      sides.checks[node.node] = RG_TRY(checks_of(store, sides.upgrade, node, since));
  return sides;
}

}  // namespace railgauge
