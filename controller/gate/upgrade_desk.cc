#include "controller/gate/upgrade_desk.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/upgrades/judge_report.h"
#include "controller/upgrades/same_stack.h"
#include "controller/upgrades/upgrade_judge.h"

namespace railgauge {
namespace {

constexpr std::string_view kAttached = "attached";

// Nodes that can be held against each other have the same devices.
std::string hardware_of(const api::NodeInfo& node) {
  std::string text;
  for (const api::Nic& nic : node.nics())
    text += fmt::format("nic {} {:.0f};", nic.driver(), nic.rate_bits_per_second());
  return text + fmt::format("{} GPUs", node.gpus_size());
}

// That a later call may find in order, without anybody changing the request.
bool may_pass(Code code) {
  return code == Code::kFailedPrecondition || code == Code::kUnavailable ||
         code == Code::kResourceExhausted;
}

api::RunRequest run_request(const std::string& suite, const std::vector<std::string>& nodes) {
  api::RunRequest request;
  request.mutable_suite()->set_name(suite);
  request.set_node_set(fmt::format("{}", fmt::join(nodes, ",")));
  request.set_trigger("upgrade");
  return request;
}

Status all_attached(const std::vector<std::string>& nodes,
                    const std::map<std::string, api::NodeInfo>& infos) {
  for (const std::string& node : nodes) {
    const auto info = infos.find(node);  // one that came since the list was made is not in it
    if (info == infos.end() || info->second.state() != kAttached)
      return fail(Code::kFailedPrecondition,
                  fmt::format("node {} is {}; start its agent first", node,
                              info == infos.end() ? "not there yet" : info->second.state()));
  }
  return {};
}

api::GateStep waiting(const std::string& reason) {
  api::GateStep step;
  step.set_schema_version(kSchemaVersion);
  step.set_state("waiting");
  step.set_reason(reason);
  return step;
}

}  // namespace

Result<UpgradeDesk::Infos> UpgradeDesk::node_infos() {
  api::ListNodesRequest request;
  request.set_with_facts(true);
  Infos infos;
  const api::NodeList list = RG_TRY(control_.list_nodes(request));
  for (const api::NodeInfo& node : list.nodes()) infos[node.name()] = node;
  // What the agents that are attached told of their stacks is on its way into the store: a node
  // that is just back must not be judged by the stack that it had.
  RG_TRY_OK(store_.flush());
  return infos;
}

Result<std::vector<std::string>> UpgradeDesk::selected(const std::string& node_set) {
  if (node_set.empty())
    return fail(Code::kInvalidArgument, "which nodes are upgraded? name them with --nodes SET");
  api::ListNodesRequest request;
  request.set_node_set(node_set);
  std::vector<std::string> names;
  const api::NodeList list = RG_TRY(control_.list_nodes(request));
  for (const api::NodeInfo& node : list.nodes()) names.push_back(node.name());
  return names;
}

// As many as there are nodes, kLeastControls at least: attached, idle, of the same hardware, those
// with the stack first that the nodes have, or had before; who changed as well is none.
Result<std::vector<std::string>> UpgradeDesk::choose_controls(
    const std::vector<std::string>& nodes, const std::string& control_set, const Infos& infos,
    const std::optional<Earlier>& before) {
  if (control_set == "none") return std::vector<std::string>{};
  std::vector<std::string> chosen;
  const auto is_ours = [&](const std::string& name) {
    return std::ranges::find(nodes, name) != nodes.end();
  };
  if (!control_set.empty()) {
    for (const std::string& name : RG_TRY(selected(control_set))) {
      if (is_ours(name))
        return fail(Code::kInvalidArgument,
                    fmt::format("node {} cannot be upgraded and be a control", name));
      chosen.push_back(name);
    }
    RG_TRY_OK(all_attached(chosen, infos));
    return chosen;
  }
  const api::NodeInfo& like = infos.at(nodes.front());
  const std::size_t wanted = std::clamp<std::size_t>(nodes.size(), kLeastControls, kMostControls);
  std::vector<std::string> others;  // with another stack
  store::StackParts had;
  if (before) had = RG_TRY(store_.stack_parts(before->stack));
  for (const auto& [name, info] : infos) {
    if (is_ours(name) || info.state() != kAttached || info.busy() ||
        hardware_of(info) != hardware_of(like) || chosen.size() == wanted)
      continue;
    bool is_like = info.stack_hash() == like.stack_hash();
    if (before) {
      if (RG_TRY(unchanged_since(info.node_id())) > before->from) continue;
      is_like = moved_to(had, RG_TRY(store_.epochs(info.node_id(), 1)).front().parts).empty();
    }
    (is_like ? chosen : others).push_back(name);
  }
  chosen.insert(chosen.end(), others.begin(), others.end());
  if (chosen.size() > wanted) chosen.resize(wanted);
  return chosen;
}

Result<api::Upgrade> UpgradeDesk::prepare(const api::PrepareRequest& request,
                                          const std::string& who) {
  std::vector<std::string> nodes = RG_TRY(selected(request.node_set()));
  const Infos infos = RG_TRY(node_infos());
  RG_TRY_OK(all_attached(nodes, infos));
  std::vector<std::string> controls =
      RG_TRY(choose_controls(nodes, request.control_set(), infos, {}));
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
    const auto epochs = RG_TRY(store_.epochs(node.node_id, 1));
    if (!epochs.empty()) node.stack_before = epochs.front().stack;
  }
  ask_preflight(nodes);
  const api::RunRequest run = run_request(row.suite, all);
  const api::RunPlan plan = RG_TRY(control_.plan_run(run));
  const api::RunSummary started = RG_TRY(control_.start_run(run, who));
  row.upgrade_id = "u" + started.run_id();
  row.created_at = fleet::unix_seconds();
  row.runs.push_back({.run_id = started.run_id()});
  RG_TRY_OK(store_.add_upgrade(row));
  api::Upgrade upgrade = summary_of(row);
  upgrade.set_run_id(started.run_id());
  upgrade.set_expected_seconds(plan.expected_seconds());
  if (controls.empty())
    upgrade.add_notes(
        "no controls: a cause common to all nodes, changed or not, cannot be excluded");
  return upgrade;
}

// What a check says before the upgrade is held against what it says after. A node that gives no
// answer has none: that is no reason not to measure.
void UpgradeDesk::ask_preflight(const std::vector<std::string>& nodes) {
  api::PreflightRequest request;
  request.set_node_set(fmt::format("{}", fmt::join(nodes, ",")));
  if (const auto asked = control_.run_preflight(request); !asked)
    spdlog::warn("upgrade: preflight of {}: {}", request.node_set(), asked.error().message);
}

// "" when the after side can be measured, else what is still missing.
Result<std::string> UpgradeDesk::not_ready(const store::UpgradeRow& upgrade,
                                           const api::GateRequest& request, const Infos& infos) {
  for (const store::UpgradeRunRow& run : upgrade.runs)
    if (!run.after && RG_TRY(store_.run_summary(run.run_id)).run.state != "ended")
      return fmt::format("the before side's run {} has not ended", run.run_id);
  std::optional<std::set<std::string>> moved_first;
  std::string first;
  std::string own;  // of Railgauge
  for (const store::UpgradeNodeRow& node : upgrade.nodes) {
    if (!node.changed) continue;
    const auto info = infos.find(node.node);
    if (info == infos.end() || info->second.state() != kAttached)
      return fmt::format("node {} is not attached", node.node);
    if (info->second.node_id() != node.node_id)
      return fmt::format(
          "node {} has another id than when the before side was measured, as after a "
          "reinstallation "
          "that did not keep its agent's state folder: its figures cannot be held against those",
          node.node);
    const auto epochs = RG_TRY(store_.epochs(node.node_id, 1));
    if (epochs.empty()) return fmt::format("node {} has told no stack", node.node);
    if (node.stack_before == 0)
      return fmt::format("node {} had told no stack when the before side was measured", node.node);
    for (const auto& [part, version] : request.expect())
      if (const std::string unmet = unmet_expectation(epochs.front().parts, part, version);
          !unmet.empty())
        return fmt::format("the stack is not what was expected: node {}: {}", node.node, unmet);
    const store::StackParts before = RG_TRY(store_.stack_parts(node.stack_before));
    const std::set<std::string> moved = moved_to(before, epochs.front().parts);
    for (const std::string& change : store::stack_changes(before, epochs.front().parts))
      if (part_of(change) == kOwnPart) own = change;
    if (!moved_first) {
      moved_first = moved;
      first = node.node;
    } else if (*moved_first != moved) {
      return fmt::format("the set is mixed: {} changed {} and {} changed {}", first,
                         words_of(*moved_first), node.node, words_of(moved));
    }
  }
  if (moved_first && moved_first->empty() && RG_TRY(came_back(store_, upgrade))) return "";
  if (!moved_first || moved_first->empty())
    return own.empty() ? "nothing changed: the nodes have the stack of the before side"
                       : fmt::format(
                             "nothing changed but Railgauge itself ({}), which is no upgrade of "
                             "the nodes",
                             own);
  return "";
}

// Whether an endpoint that worked before is gone, so that nothing can be planned on it: by the
// inventory and the before side alone.
Result<bool> UpgradeDesk::has_lost_an_endpoint(const store::UpgradeRow& upgrade, bool is_stored) {
  std::vector<std::string> changed;
  for (const store::UpgradeNodeRow& node : upgrade.nodes)
    if (node.changed) changed.push_back(node.node_id);
  const auto states = RG_TRY(store_.endpoint_states(changed));
  const auto is_away = [](const store::EndpointStateRow& state) {
    return state.gone || state.state != "active";
  };
  if (std::ranges::none_of(states, is_away)) return false;
  if (!is_stored) RG_TRY_OK(store_.add_upgrade(upgrade));
  Sides sides = RG_TRY(read_sides(store_, upgrade.upgrade_id));
  sides.after.clear();
  sides.tasks_after.clear();
  sides.checks.clear();
  const auto lost = analysis::lost_functions(runs_of(sides).functions);
  return std::ranges::any_of(lost, [](const analysis::LostFunction& one) {
    return one.sides.name.starts_with("endpoint");
  });
}

Result<api::GateStep> UpgradeDesk::start_after(const store::UpgradeRow& upgrade, const Infos& infos,
                                               const api::GateRequest& request,
                                               const std::string& who) {
  std::vector<std::string> changed;
  std::vector<std::string> nodes;
  for (const store::UpgradeNodeRow& node : upgrade.nodes) {
    if (node.changed) changed.push_back(node.node);
    if (node.changed || (infos.contains(node.node) && infos.at(node.node).state() == kAttached &&
                         !infos.at(node.node).busy()))
      nodes.push_back(node.node);
  }
  const std::string suite = request.suite().empty() ? upgrade.suite : request.suite();
  const bool anew = request.continue_upgrade_id().empty();
  const bool is_stored = store_.upgrade(upgrade.upgrade_id).has_value();
  const auto started = control_.start_run(run_request(suite, nodes), who);
  api::GateStep step;
  step.set_schema_version(kSchemaVersion);
  step.set_upgrade_id(upgrade.upgrade_id);
  if (started) {
    if (!is_stored) RG_TRY_OK(store_.add_upgrade(upgrade));
    RG_TRY_OK(store_.add_upgrade_after(upgrade.upgrade_id, started->run_id(), anew));
    ask_preflight(changed);
    step.set_state("measuring");
    step.set_run_id(started->run_id());
    return step;
  }
  // What cannot be planned any more, since its endpoints are gone, is judged without. Any other
  // reason says nothing of the upgrade, and leaves what was measured as it is.
  const Code code = started.error().code;
  const bool unplannable = code == Code::kInvalidArgument || code == Code::kFailedPrecondition;
  if (unplannable && RG_TRY(has_lost_an_endpoint(upgrade, is_stored))) {
    RG_TRY_OK(store_.add_upgrade_after(upgrade.upgrade_id, "", anew));
    step.set_state("measured");
    step.set_reason(started.error().message);
    return step;
  }
  if (may_pass(code)) return waiting(started.error().message);
  return tl::unexpected(started.error());
}

Result<api::GateStep> UpgradeDesk::gate(const api::GateRequest& request, const std::string& who) {
  const Infos infos = RG_TRY(node_infos());
  if (!request.continue_upgrade_id().empty()) {
    const store::UpgradeRow row = RG_TRY(store_.upgrade(request.continue_upgrade_id()));
    const std::string missing = RG_TRY(not_ready(row, request, infos));
    return missing.empty() ? start_after(row, infos, request, who) : waiting(missing);
  }
  const std::vector<std::string> nodes = RG_TRY(selected(request.node_set()));
  std::optional<store::UpgradeRow> row = RG_TRY(prepared_for(nodes));
  if (!row) {
    // The upgrade may still be to come: what is not there yet is waited for like a reboot.
    auto history = from_history(nodes, request, infos, who);
    if (!history && may_pass(history.error().code)) return waiting(history.error().message);
    if (!history) return tl::unexpected(history.error());
    row = std::move(*history);
  }
  if (const std::string missing = RG_TRY(not_ready(*row, request, infos)); !missing.empty())
    return waiting(missing);
  return start_after(*row, infos, request, who);
}

}  // namespace railgauge
