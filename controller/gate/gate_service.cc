#include "controller/gate/gate_service.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/api/contract.h"
#include "controller/gate/controls.h"
#include "controller/upgrades/gate_terms.h"
#include "controller/upgrades/judge_report.h"
#include "controller/upgrades/upgrade_judge.h"
#include "controller/upgrades/upgrade_reading.h"

namespace railgauge {
namespace {

constexpr double kDaySeconds = 86'400;
// Newest upgrades among which a prepared one is searched.
constexpr std::uint32_t kUpgradesLooked = 500;
constexpr std::uint32_t kEpochsLooked = 50;  // of a node, newest first
using Infos = NodeInfos;

// Reports whether the cause of the error may go away without a change of the request.
bool may_pass(Code code) {
  return code == Code::kFailedPrecondition || code == Code::kUnavailable ||
         code == Code::kResourceExhausted;
}

// A run of the suite over exactly these nodes, marked as a run of an upgrade.
api::RunRequest run_request(const std::string& suite, const std::vector<std::string>& nodes) {
  api::RunRequest request;
  request.mutable_suite()->set_name(suite);
  request.set_node_set(fmt::format("{}", fmt::join(nodes, ",")));
  request.set_trigger("upgrade");
  return request;
}

// The step that asks the client to call again later: the nodes are not ready.
api::GateStep waiting(const std::string& reason) {
  auto step = new_document<api::GateStep>();
  step.set_state(std::string(text_of(GateState::kWaiting)));
  step.set_reason(reason);
  return step;
}

// The same where the upgrade waits for its turn and not for its nodes.
api::GateStep waiting_for_turn(const std::string& upgrade_id, const std::string& reason) {
  api::GateStep step = waiting(reason);
  step.set_upgrade_id(upgrade_id);
  return step;
}

// Asks the agents for a preflight whose checks the store keeps. A node that does not answer has no
// checks and is measured all the same.
void ask_preflight(Control& control, const std::vector<std::string>& nodes) {
  api::PreflightRequest request;
  request.set_node_set(fmt::format("{}", fmt::join(nodes, ",")));
  if (const auto asked = control.run_preflight(request); !asked)
    spdlog::warn("upgrade: preflight of {}: {}", request.node_set(), asked.error().message);
}

// "" when the before side is measured, else which run has not ended.
Result<std::string> open_before(store::Store& store, const store::UpgradeRow& upgrade) {
  for (const store::UpgradeRunRow& run : upgrade.runs)
    if (!run.after && !has_ended(RG_TRY(store.run_summary(run.run_id)).run))
      return fmt::format("the before side's run {} has not ended", run.run_id);
  return std::string();
}

// "" when the nodes are ready for the after side, else the missing condition. All changed nodes
// must be back with the same change against their stack of the before side.
Result<std::string> not_ready(store::Store& store, const store::UpgradeRow& upgrade,
                              const api::GateRequest& request, const Infos& infos) {
  std::optional<std::set<std::string>> moved_first;
  std::string first;
  std::string own;  // of Railgauge
  for (const store::UpgradeNodeRow& node : changed_nodes(upgrade)) {
    const auto info = infos.find(node.node);
    if (info == infos.end() || info->second.state() != kAttached)
      return fmt::format("node {} is not attached", node.node);
    if (info->second.has_pause()) return pause_of(info->second);
    if (info->second.node_id() != node.node_id)
      return fmt::format(
          "node {} has another id than when the before side was measured, as after a "
          "reinstallation "
          "that did not keep its agent's state folder: its figures cannot be compared with those",
          node.node);
    const auto epochs = RG_TRY(store.read(store::read_epochs, node.node_id, 1));
    if (epochs.empty()) return fmt::format("node {} has reported no stack", node.node);
    if (node.stack_before == 0)
      return fmt::format("node {} had reported no stack when the before side was measured",
                         node.node);
    for (const auto& [part, version] : request.expect())
      if (const std::string unmet = unmet_expectation(epochs.front().parts, part, version);
          !unmet.empty())
        return fmt::format("the stack is not what was expected: node {}: {}", node.node, unmet);
    const store::StackParts before = RG_TRY(store.read(store::read_stack_parts, node.stack_before));
    const std::set<std::string> moved = moved_to(before, epochs.front().parts);
    for (const store::StackChange& change : store::stack_changes(before, epochs.front().parts))
      if (change.part == kOwnPart) own = store::text_of(change);
    if (!moved_first) {
      moved_first = moved;
      first = node.node;
    } else if (*moved_first != moved) {
      return fmt::format("the set is mixed: {} changed {} and {} changed {}", first,
                         words_of(*moved_first), node.node, words_of(moved));
    }
  }
  if (moved_first && moved_first->empty() && RG_TRY(came_back(store, upgrade))) return "";
  if (!moved_first || moved_first->empty())
    return own.empty() ? "nothing changed: the nodes have the stack of the before side"
                       : fmt::format(
                             "nothing changed but Railgauge itself ({}), which is no upgrade of "
                             "the nodes",
                             own);
  return "";
}

// Reports whether an endpoint that worked before is gone. `is_stored`: whether the store has the
// row; else it is written first. Judges by the inventory and the before side alone: no figure of
// the after side is used.
Result<bool> has_lost_an_endpoint(store::Store& store, const store::UpgradeRow& upgrade,
                                  bool is_stored) {
  const std::set<std::string> changed = changed_ids(upgrade);
  const auto states = RG_TRY(store.read(store::read_endpoint_states,
                                        std::vector<std::string>(changed.begin(), changed.end())));
  if (std::ranges::none_of(states, is_away)) return false;
  if (!is_stored) RG_TRY_OK(store.write(store::write_upgrade, upgrade));
  UpgradeData data = RG_TRY(read_upgrade_data(store, upgrade.upgrade_id));
  data.after.clear();
  data.tasks_after.clear();
  data.checks.clear();
  const auto lost = analysis::lost_functions(runs_of(data).functions);
  return std::ranges::any_of(lost, [](const analysis::LostFunction& one) {
    return !one.sides.is_task;  // the checks are cleared, so that only endpoints are left
  });
}

// A further run has the coverage of those before it, and the time of its own gate.
GateTerms without_limit(GateTerms terms) {
  terms.ends_at = 0;
  return terms;
}

// Starts a run of the after side and adds it to the upgrade. Controls that are busy or away are
// left out of the run; the report names them.
Result<api::GateStep> start_after(Control& control, store::Store& store,
                                  const store::UpgradeRow& upgrade, const Infos& infos,
                                  const api::GateRequest& request, const std::string& who) {
  std::vector<std::string> changed;
  std::vector<std::string> nodes;
  for (const store::UpgradeNodeRow& node : upgrade.nodes) {
    if (node.changed) changed.push_back(node.node);
    if (node.changed || (infos.contains(node.node) && infos.at(node.node).state() == kAttached &&
                         !infos.at(node.node).busy() && !infos.at(node.node).has_pause()))
      nodes.push_back(node.node);
  }
  const std::string suite = request.suite().empty() ? upgrade.suite : request.suite();
  const bool anew = request.continue_upgrade_id().empty();
  const auto stored = store.read(store::read_upgrade, upgrade.upgrade_id);
  const bool is_stored = stored.has_value();
  const std::string terms =
      stored_text(terms_with(anew || !is_stored ? GateTerms() : without_limit(terms_of(*stored)),
                             request, fleet::unix_seconds()));
  const auto started = control.start_run(run_request(suite, nodes), who);
  auto step = new_document<api::GateStep>();
  step.set_upgrade_id(upgrade.upgrade_id);
  if (started) {
    if (!is_stored) RG_TRY_OK(store.write(store::write_upgrade, upgrade));
    RG_TRY_OK(store.write(store::write_upgrade_after_on, upgrade.upgrade_id, started->run_id(),
                          anew, terms));
    ask_preflight(control, changed);
    step.set_state(std::string(text_of(GateState::kMeasuring)));
    step.set_run_id(started->run_id());
    return step;
  }
  // A run that cannot be planned because endpoints are gone is judged without. Any other reason
  // says nothing about the upgrade and leaves the measured figures as they are.
  const Code code = started.error().code;
  const bool unplannable = code == Code::kInvalidArgument || code == Code::kFailedPrecondition;
  if (unplannable && RG_TRY(has_lost_an_endpoint(store, upgrade, is_stored))) {
    RG_TRY_OK(store.write(store::write_upgrade_after_on, upgrade.upgrade_id, "", anew, terms));
    step.set_state(std::string(text_of(GateState::kMeasured)));
    step.set_reason(started.error().message);
    return step;
  }
  if (code == Code::kResourceExhausted)
    return waiting_for_turn(upgrade.upgrade_id, started.error().message);
  if (may_pass(code)) return waiting(started.error().message);
  return tl::unexpected(started.error());
}

// Starts a run of the after side once the before side is measured and the nodes are ready.
Result<api::GateStep> start_when_ready(Control& control, store::Store& store,
                                       const store::UpgradeRow& upgrade, const Infos& infos,
                                       const api::GateRequest& request, const std::string& who) {
  if (const std::string open = RG_TRY(open_before(store, upgrade)); !open.empty())
    return waiting_for_turn(upgrade.upgrade_id, open);
  const std::string missing = RG_TRY(not_ready(store, upgrade, request, infos));
  return missing.empty() ? start_after(control, store, upgrade, infos, request, who)
                         : waiting(missing);
}

// Reports whether the upgrade passed and its nodes have moved to another stack since: any changed
// node with another stack ends the upgrade.
Result<bool> is_over(store::Store& store, const store::UpgradeRow& row) {
  if (row.verdict != word(analysis::Verdict::kPass)) return false;
  for (const store::UpgradeNodeRow& node : row.nodes) {
    if (!node.changed || node.stack_after == 0) continue;
    const auto epochs = RG_TRY(store.read(store::read_epochs, node.node_id, 1));
    const store::StackParts then = RG_TRY(store.read(store::read_stack_parts, node.stack_after));
    if (!epochs.empty() && !moved_to(then, epochs.front().parts).empty()) return true;
  }
  return false;
}

// The newest upgrade that was prepared for exactly these nodes and is not over. An upgrade from
// history is made anew for each gate and never found here.
Result<std::optional<store::UpgradeRow>> prepared_for(store::Store& store,
                                                      const std::vector<std::string>& nodes) {
  const std::set<std::string> wanted(nodes.begin(), nodes.end());
  for (store::UpgradeRow& row : RG_TRY(store.read(store::read_upgrades, kUpgradesLooked))) {
    if (changed_names(row) != wanted || row.before_is_history) continue;
    if (RG_TRY(is_over(store, row))) return std::nullopt;
    return std::optional(std::move(row));
  }
  return std::nullopt;
}

// Reports whether the nodes still have the stack that the upgrade's after side measures.
Result<bool> has_measured_stack(store::Store& store, const store::UpgradeRow& upgrade) {
  for (const store::UpgradeNodeRow& node : changed_nodes(upgrade)) {
    const auto epochs = RG_TRY(store.read(store::read_epochs, node.node_id, 1));
    if (epochs.empty() || node.stack_after == 0) return false;
    const store::StackParts then = RG_TRY(store.read(store::read_stack_parts, node.stack_after));
    if (!moved_to(then, epochs.front().parts).empty()) return false;
  }
  return true;
}

// Reports whether the controls of the upgrade are among those of the request.
Result<bool> has_these_controls(Control& control, const store::UpgradeRow& upgrade,
                                const std::string& control_set) {
  if (control_set.empty()) return true;
  std::set<std::string> wanted;
  if (control_set != "none")
    for (const std::string& name : RG_TRY(selected(control, control_set))) wanted.insert(name);
  return std::ranges::all_of(upgrade.nodes, [&](const store::UpgradeNodeRow& node) {
    return node.changed || wanted.contains(node.node);
  });
}

// The newest upgrade of exactly these nodes, where its after side is under way or waits for its
// verdict. A gate whose caller was killed continues with it.
Result<std::optional<store::UpgradeRow>> begun_for(Control& control, store::Store& store,
                                                   const std::vector<std::string>& nodes,
                                                   const api::GateRequest& request) {
  const std::set<std::string> wanted(nodes.begin(), nodes.end());
  for (store::UpgradeRow& row : RG_TRY(store.read(store::read_upgrades, kUpgradesLooked))) {
    if (changed_names(row) != wanted) continue;
    const AfterSide side = RG_TRY(after_side_of(store, row, fleet::unix_seconds()));
    const bool is_asked = (side == AfterSide::kMeasuring || side == AfterSide::kMeasured) &&
                          (request.suite().empty() || request.suite() == row.suite) &&
                          RG_TRY(has_these_controls(control, row, request.control_set())) &&
                          RG_TRY(has_measured_stack(store, row));
    if (!is_asked) return std::nullopt;
    return std::optional(std::move(row));
  }
  return std::nullopt;
}

// The step of an upgrade that is begun: its newest run of the after side, or that there is none.
api::GateStep step_of_begun(const store::UpgradeRow& upgrade) {
  auto step = new_document<api::GateStep>();
  step.set_upgrade_id(upgrade.upgrade_id);
  step.set_state(std::string(text_of(GateState::kMeasured)));
  step.set_reason("the after side has no run");
  for (const store::UpgradeRunRow& run : upgrade.runs) {
    if (!run.after) continue;
    step.set_state(std::string(text_of(GateState::kMeasuring)));
    step.clear_reason();
    step.set_run_id(run.run_id);
  }
  return step;
}

// The terms of whoever asks last hold; what the request does not state stays.
Status keep_terms(store::Store& store, const std::string& upgrade_id,
                  const api::GateRequest& request) {
  if (!request.has_min_coverage() && !request.has_time_limit_seconds()) return {};
  const store::UpgradeRow stored = RG_TRY(store.read(store::read_upgrade, upgrade_id));
  return store.write(store::write_upgrade_terms, upgrade_id,
                     stored_text(terms_with(terms_of(stored), request, fleet::unix_seconds())));
}

// The stack of a node before its present one. kFailedPrecondition: the node had no other stack
// since it is known. Walks back over the epochs: past the present stack, then along the one before
// it. A third stack, or replaced hardware, ends the time.
Result<Stay> earlier_stack(store::Store& store, const std::string& name,
                           const std::string& node_id) {
  const auto epochs = RG_TRY(store.read(store::read_epochs, node_id, kEpochsLooked));
  Stay out;
  for (std::size_t i = 1; i < epochs.size(); ++i) {
    const bool same = moved_to(epochs[i].parts, epochs[0].parts).empty();
    if (out.stack == 0 && same) continue;
    if (out.stack == 0) {
      out.stack = epochs[i].stack;
      out.until = epochs[i - 1].valid_from;
    } else if (!moved_to(epochs[i].parts, RG_TRY(store.read(store::read_stack_parts, out.stack)))
                    .empty()) {
      break;  // what was measured before is of a third stack
    }
    out.from = epochs[i].valid_from;
    if (epochs[i].cause == kReplacedCause) break;
  }
  if (out.stack != 0) return out;
  return fail(Code::kFailedPrecondition,
              fmt::format("no before side: node {} has had no other stack since it is known; "
                          "railgauge upgrades prepare --nodes SET measures one before the upgrade",
                          name));
}

// An upgrade whose before side is runs of the last weeks before the first of the nodes changed,
// while all nodes had the stack that they had at that time. kFailedPrecondition: there are none.
Result<store::UpgradeRow> from_history(Control& control, store::Store& store,
                                       const std::vector<std::string>& nodes,
                                       const api::GateRequest& request, const Infos& infos,
                                       const std::string& who) {
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
    const Stay earlier = RG_TRY(earlier_stack(store, name, id));
    until = std::min(until, earlier.until);
    from = std::max(from, earlier.from);
    ids.push_back(id);
    row.nodes.push_back(
        {.node_id = id, .node = name, .changed = true, .stack_before = earlier.stack});
  }
  from = std::max(from, until - kHistoryDays * kDaySeconds);
  for (const std::string& run :
       RG_TRY(store.read(store::read_runs_of_nodes, ids, from, until, kHistoryRuns)))
    row.runs.push_back({.run_id = run});
  if (row.runs.empty())
    return fail(Code::kFailedPrecondition,
                fmt::format("no before side: nothing was measured on {} in the {:.0f} days before "
                            "the stack changed; railgauge upgrades prepare --nodes SET measures "
                            "it before the next upgrade",
                            fmt::join(nodes, ", "), kHistoryDays));
  // A node that came or changed before the first of these runs is a valid control.
  const double begun = RG_TRY(store.run_summary(row.runs.front().run_id)).run.created_at;
  from = std::max(from, begun);
  const Stay before{.stack = row.nodes.front().stack_before, .from = from, .until = until};
  for (const std::string& name :
       RG_TRY(choose_controls(control, store, nodes, request.control_set(), infos, before))) {
    const std::string& id = infos.at(name).node_id();
    const auto epochs = RG_TRY(store.read(store::read_epochs, id, kEpochsLooked));
    // Also of controls that a person named.
    if (!epochs.empty() && unchanged_since(epochs) <= from)
      row.nodes.push_back({.node_id = id, .node = name, .stack_before = epochs.front().stack});
  }
  row.upgrade_id = fmt::format("h{:.0f}-{}", row.created_at * 1e3, nodes.front());
  return row;
}

}  // namespace

// The row is written after the run has started: its id is the run's. A node without a known stack
// is accepted here and reported by not_ready().
Result<api::Upgrade> GateService::prepare(const api::PrepareRequest& request,
                                          const std::string& who) {
  std::vector<std::string> nodes = RG_TRY(selected(control_, request.node_set()));
  const Infos infos = RG_TRY(node_infos(control_, store_));
  RG_TRY_OK(all_attached(nodes, infos));
  std::vector<std::string> controls =
      RG_TRY(choose_controls(control_, store_, nodes, request.control_set(), infos, {}));
  // The gate names them by kind and name, and a ring's pairs follow the order of the names.
  std::ranges::sort(nodes);
  std::ranges::sort(controls);
  store::UpgradeRow row{.suite = suite_or_default(request.suite()), .requested_by = who};
  std::vector<std::string> all = nodes;
  all.insert(all.end(), controls.begin(), controls.end());
  for (const std::string& name : all) {
    store::UpgradeNodeRow& node = row.nodes.emplace_back();
    node.node_id = infos.at(name).node_id();
    node.node = name;
    node.changed = std::ranges::find(nodes, name) != nodes.end();
    const auto epochs = RG_TRY(store_.read(store::read_epochs, node.node_id, 1));
    if (!epochs.empty()) node.stack_before = epochs.front().stack;
  }
  ask_preflight(control_, nodes);
  const api::RunRequest run = run_request(row.suite, all);
  const api::RunPlan plan = RG_TRY(control_.plan_run(run));
  const api::RunSummary started = RG_TRY(control_.start_run(run, who));
  row.upgrade_id = "u" + started.run_id();
  row.created_at = fleet::unix_seconds();
  row.runs.push_back({.run_id = started.run_id()});
  RG_TRY_OK(store_.write(store::write_upgrade, row));
  api::Upgrade upgrade = summary_of(row);
  upgrade.set_run_id(started.run_id());
  upgrade.set_expected_seconds(plan.expected_seconds());
  if (controls.empty())
    upgrade.add_notes(
        "no controls: a cause common to all nodes, changed or not, cannot be excluded");
  return upgrade;
}

// With an upgrade's id it adds a run to that upgrade. Else an upgrade of the nodes that is begun is
// continued, or the prepared one is used, or one from history.
Result<api::GateStep> GateService::gate(const api::GateRequest& request, const std::string& who) {
  RG_TRY_OK(check_terms(request));
  const Infos infos = RG_TRY(node_infos(control_, store_));
  if (!request.continue_upgrade_id().empty()) {
    const store::UpgradeRow row =
        RG_TRY(store_.read(store::read_upgrade, request.continue_upgrade_id()));
    return start_when_ready(control_, store_, row, infos, request, who);
  }
  const std::vector<std::string> nodes = RG_TRY(selected(control_, request.node_set()));
  if (const auto begun = RG_TRY(begun_for(control_, store_, nodes, request))) {
    const std::string missing = RG_TRY(not_ready(store_, *begun, request, infos));
    if (!missing.empty()) return waiting(missing);
    RG_TRY_OK(keep_terms(store_, begun->upgrade_id, request));
    return step_of_begun(*begun);
  }
  std::optional<store::UpgradeRow> row = RG_TRY(prepared_for(store_, nodes));
  if (!row) {
    // The upgrade may still be to come: what is not there yet is waited for like a reboot.
    auto history = from_history(control_, store_, nodes, request, infos, who);
    if (!history && may_pass(history.error().code)) return waiting(history.error().message);
    if (!history) return tl::unexpected(history.error());
    row = std::move(*history);
  }
  return start_when_ready(control_, store_, *row, infos, request, who);
}

}  // namespace railgauge
