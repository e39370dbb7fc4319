#include "controller/upgrade_desk.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/judge_report.h"
#include "controller/upgrade_judge.h"

namespace railgauge {
namespace {

constexpr double kDaySeconds = 86'400;
constexpr std::uint32_t kUpgradesLooked = 500;
constexpr std::uint32_t kEpochsLooked = 50;
constexpr std::string_view kSuite = "upgrade";
constexpr std::string_view kAttached = "attached";

std::string suite_or_default(const std::string& suite) {
  return suite.empty() ? std::string(kSuite) : suite;
}

// Nodes that can be held against each other have the same devices.
std::string hardware_of(const api::NodeInfo& node) {
  std::string text;
  for (const api::Nic& nic : node.nics())
    text += fmt::format("nic {} {:.0f};", nic.driver(), nic.rate_bits_per_second());
  return text + fmt::format("{} GPUs", node.gpus_size());
}

bool is_key(const std::string& key, const std::string& part) {
  return key == part || key.ends_with("_" + part) || key.ends_with("." + part);
}

bool is_version(const std::string& value, const std::string& wanted) {
  if (!value.starts_with(wanted)) return false;
  return value.size() == wanted.size() ||
         std::isalnum(static_cast<unsigned char>(value[wanted.size()])) == 0;
}

// What an upgrade is: versions, or where none moved, settings. "part value" each.
std::set<std::string> moved_to(const store::StackParts& before, const store::StackParts& now) {
  const auto moved = [](const store::TextMap& was, const store::TextMap& is) {
    std::set<std::string> out;
    for (const std::string& change : store::stack_changes({.versions = was}, {.versions = is}))
      out.insert(change.substr(0, change.find(' ')) +
                 change.substr(std::min(change.rfind(" -> "), change.size())));
    return out;
  };
  const std::set<std::string> versions = moved(before.versions, now.versions);
  return versions.empty() ? moved(before.settings, now.settings) : versions;
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

std::string unmet_expectation(const store::StackParts& stack, const std::string& part,
                              const std::string& version) {
  bool known = false;
  for (const auto* half : {&stack.versions, &stack.settings})
    for (const auto& [key, value] : *half) {
      if (!is_key(key, part)) continue;
      known = true;
      if (!is_version(value, version))
        return fmt::format("{} is {}, expected {}", key, value, version);
    }
  return known ? "" : fmt::format("it tells no {}, expected {}", part, version);
}

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

// As many as there are nodes, two at least: attached, idle, of the same hardware, those with the
// same stack first.
Result<std::vector<std::string>> UpgradeDesk::choose_controls(const std::vector<std::string>& nodes,
                                                              const std::string& control_set,
                                                              const Infos& infos) {
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
  std::vector<std::string> others;  // with another stack
  for (const auto& [name, info] : infos) {
    if (is_ours(name) || info.state() != kAttached || info.busy() ||
        hardware_of(info) != hardware_of(like))
      continue;
    (info.stack_hash() == like.stack_hash() ? chosen : others).push_back(name);
  }
  chosen.insert(chosen.end(), others.begin(), others.end());
  const std::size_t wanted = std::clamp<std::size_t>(nodes.size(), kLeastControls, kMostControls);
  if (chosen.size() > wanted) chosen.resize(wanted);
  return chosen;
}

Result<api::Upgrade> UpgradeDesk::prepare(const api::PrepareRequest& request,
                                          const std::string& who) {
  std::vector<std::string> nodes = RG_TRY(selected(request.node_set()));
  const Infos infos = RG_TRY(node_infos());
  RG_TRY_OK(all_attached(nodes, infos));
  std::vector<std::string> controls = RG_TRY(choose_controls(nodes, request.control_set(), infos));
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

// The newest that was made for just these nodes.
Result<std::optional<store::UpgradeRow>> UpgradeDesk::prepared_for(
    const std::vector<std::string>& nodes) {
  const std::set<std::string> wanted(nodes.begin(), nodes.end());
  for (store::UpgradeRow& row : RG_TRY(store_.list_upgrades(kUpgradesLooked))) {
    std::set<std::string> changed;
    for (const store::UpgradeNodeRow& node : row.nodes)
      if (node.changed) changed.insert(node.node);
    if (changed == wanted && !row.before_is_history) return std::optional(std::move(row));
  }
  return std::nullopt;
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
    const auto epochs = RG_TRY(store_.epochs(id, 2));
    if (epochs.size() < 2)
      return fail(Code::kFailedPrecondition,
                  fmt::format("no before side: node {} has had no other stack since it is known; "
                              "railgauge upgrades prepare --nodes SET measures one before the "
                              "upgrade",
                              name));
    until = std::min(until, epochs[0].valid_from);
    from = std::max(from, epochs[1].valid_from);
    ids.push_back(id);
    row.nodes.push_back(
        {.node_id = id, .node = name, .changed = true, .stack_before = epochs[1].stack});
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
  for (const std::string& name : RG_TRY(choose_controls(nodes, request.control_set(), infos))) {
    const std::string& id = infos.at(name).node_id();
    const auto epochs = RG_TRY(store_.epochs(id, 1));
    if (!epochs.empty() && epochs.front().valid_from <= from)
      row.nodes.push_back({.node_id = id, .node = name, .stack_before = epochs.front().stack});
  }
  row.upgrade_id = fmt::format("h{:.0f}-{}", row.created_at * 1e3, nodes.front());
  return row;
}

// "" when the after side can be measured, else what is still missing.
Result<std::string> UpgradeDesk::not_ready(const store::UpgradeRow& upgrade,
                                           const api::GateRequest& request, const Infos& infos) {
  for (const store::UpgradeRunRow& run : upgrade.runs)
    if (!run.after && RG_TRY(store_.run_summary(run.run_id)).run.state != "ended")
      return fmt::format("the before side's run {} has not ended", run.run_id);
  std::optional<std::set<std::string>> moved_first;
  std::string first;
  for (const store::UpgradeNodeRow& node : upgrade.nodes) {
    if (!node.changed) continue;
    const auto info = infos.find(node.node);
    if (info == infos.end() || info->second.state() != kAttached)
      return fmt::format("node {} is not attached", node.node);
    const auto epochs = RG_TRY(store_.epochs(node.node_id, kEpochsLooked));
    if (epochs.empty()) return fmt::format("node {} has told no stack", node.node);
    for (const auto& [part, version] : request.expect())
      if (const std::string unmet = unmet_expectation(epochs.front().parts, part, version);
          !unmet.empty())
        return fmt::format("the stack is not what was expected: node {}: {}", node.node, unmet);
    const auto before = std::ranges::find(epochs, node.stack_before, &store::EpochRow::stack);
    if (before == epochs.end())
      return fmt::format("node {}: its stack of before is not known", node.node);
    const std::set<std::string> moved = moved_to(before->parts, epochs.front().parts);
    if (!moved_first) {
      moved_first = moved;
      first = node.node;
    } else if (*moved_first != moved) {
      return fmt::format(
          "the set is mixed: {} changed {} and {} changed {}", first,
          moved_first->empty() ? "nothing" : fmt::format("{}", fmt::join(*moved_first, ", ")),
          node.node, moved.empty() ? "nothing" : fmt::format("{}", fmt::join(moved, ", ")));
    }
  }
  if (!moved_first || moved_first->empty())
    return "nothing changed: the nodes have the stack of the before side";
  return "";
}

Result<api::GateStep> UpgradeDesk::start_after(const store::UpgradeRow& upgrade, const Infos& infos,
                                               const api::GateRequest& request,
                                               const std::string& who) {
  std::vector<std::string> nodes;
  for (const store::UpgradeNodeRow& node : upgrade.nodes)
    if (node.changed || (infos.contains(node.node) && infos.at(node.node).state() == kAttached &&
                         !infos.at(node.node).busy()))
      nodes.push_back(node.node);
  const std::string suite = request.suite().empty() ? upgrade.suite : request.suite();
  const bool anew = request.continue_upgrade_id().empty();
  const auto started = control_.start_run(run_request(suite, nodes), who);
  api::GateStep step;
  step.set_schema_version(kSchemaVersion);
  step.set_upgrade_id(upgrade.upgrade_id);
  if (started) {
    RG_TRY_OK(store_.add_upgrade_after(upgrade.upgrade_id, started->run_id(), anew));
    step.set_state("measuring");
    step.set_run_id(started->run_id());
    return step;
  }
  // What cannot be measured any more, since its endpoints are gone, is judged without.
  const Sides sides = RG_TRY(read_sides(store_, upgrade.upgrade_id));
  const auto lost = analysis::lost_functions(runs_of(sides).functions);
  if (lost.empty()) return tl::unexpected(started.error());
  RG_TRY_OK(store_.add_upgrade_after(upgrade.upgrade_id, "", anew));
  step.set_state("measured");
  step.set_reason(started.error().message);
  return step;
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
  const bool prepared = row.has_value();
  if (!prepared) row = RG_TRY(from_history(nodes, request, infos, who));
  if (const std::string missing = RG_TRY(not_ready(*row, request, infos)); !missing.empty())
    return waiting(missing);
  if (!prepared) RG_TRY_OK(store_.add_upgrade(*row));
  return start_after(*row, infos, request, who);
}

}  // namespace railgauge
