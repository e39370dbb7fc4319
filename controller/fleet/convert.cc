#include "controller/fleet/convert.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/fleet/hello_check.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/stack_hash.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

api::Nic to_api(const store::EndpointRow& row) {
  api::Nic nic;
  nic.set_device(row.device);
  nic.set_port(row.port);
  nic.set_pci_address(row.pci_address);
  nic.set_netdev(row.netdev);
  nic.set_state(row.state);
  nic.set_link_layer(row.link_layer);
  nic.set_guid(row.guid);
  nic.set_rate_bits_per_second(row.rate_bits_per_second);
  if (row.active_mtu_bytes > 0) nic.set_active_mtu_bytes(row.active_mtu_bytes);
  nic.set_firmware(row.firmware);
  nic.set_numa_node_plus_one(row.numa_node_plus_one);
  nic.set_driver(row.driver);
  return nic;
}

api::Gpu gpu_of(const store::EndpointRow& row) {
  api::Gpu gpu;
  gpu.set_name(row.device);
  gpu.set_pci_address(row.pci_address);
  gpu.set_uuid(row.guid);
  gpu.set_model(row.model);
  gpu.set_state(row.state);
  gpu.set_driver(row.driver);
  gpu.set_vbios(row.firmware);
  gpu.set_numa_node_plus_one(row.numa_node_plus_one);
  return gpu;
}

void add_stack_hash(api::NodeInfo& info) {
  using Words = std::map<std::string, std::string>;
  if (info.stack_versions().empty()) return;
  info.set_stack_hash(
      stack_hash(Words(info.stack_versions().begin(), info.stack_versions().end()),
                 Words(info.stack_settings().begin(), info.stack_settings().end())));
}

api::RankDetail to_api(const store::RankDetailRow& row) {
  api::RankDetail rank;
  rank.set_rank(row.rank);
  rank.set_node(row.node);
  rank.set_endpoint(row.endpoint);
  if (row.final_record) {
    rank.set_outcome(row.final_record->outcome());
    if (!row.final_record->reason().empty()) rank.set_reason(row.final_record->reason());
    *rank.mutable_phases() = row.final_record->phases();
  }
  rank.mutable_facts()->insert(row.facts.begin(), row.facts.end());
  for (const Note& note : row.notes)
    rank.add_notes(fmt::format("{}: {}", note.severity(), note.text()));
  return rank;
}

api::PlannedTask to_api(const plan::PlannedTask& task) {
  api::PlannedTask planned;
  planned.set_task_id(task.id);
  planned.set_stage(task.stage);
  planned.set_round(task.round);
  planned.set_kernel(task.kernel);
  for (const plan::PlannedRank& rank : task.ranks)
    planned.add_endpoints(endpoint_text(rank.node, plan::text_of(rank)));
  planned.set_expected_seconds(task.expected_seconds);
  planned.set_expected_bytes(task.expected_bytes);
  if (task.distance != plan::DistanceClass::kNone)
    planned.set_distance(std::string(plan::name_of(task.distance)));
  planned.set_repetition(task.repetition);
  return planned;
}

api::PlannedRound to_api(const plan::Plan& plan, std::size_t round) {
  const plan::PlannedRound& info = plan.round_infos[round];
  api::PlannedRound out;
  out.set_round(static_cast<std::uint32_t>(round));
  out.set_stage(plan.stages[info.stage].name);
  if (info.distance != plan::DistanceClass::kNone)
    out.set_distance(std::string(plan::name_of(info.distance)));
  out.set_mixed(info.mixed);
  out.set_reversed(info.reversed);
  out.set_repetition(info.repetition);
  out.set_tasks(info.tasks);
  out.set_expected_seconds(info.expected_seconds);
  return out;
}

api::PlannedStage to_api(const plan::PlannedStage& stage) {
  api::PlannedStage out;
  out.set_stage(stage.name);
  out.set_kernel(stage.kernel);
  out.set_rounds(stage.rounds);
  out.set_tasks(static_cast<double>(stage.tasks));
  out.set_repetitions(stage.repetitions);
  if (stage.time_budget_seconds > 0) out.set_time_budget_seconds(stage.time_budget_seconds);
  return out;
}

// The hardware class of a node: the models of its GPUs and the drivers of its NICs. The class has
// neither their number nor their present speed: a node with a dead GPU or a degraded link is
// against the others.
std::string hardware_of(const api::Hello& hello) {
  std::set<std::string> parts;
  for (const api::Gpu& gpu : hello.gpus())
    if (!gpu.model().empty()) parts.insert(gpu.model());
  for (const api::Nic& nic : hello.nics())
    parts.insert(fmt::format("{} {}", nic.driver(), nic.link_layer()));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

bool is_modelled_node(const api::Hello& hello) {
  const auto mark = hello.facts().find("synthetic");
  return mark != hello.facts().end() && mark->second == "true";
}

Status check_data_kind(store::DataKind kind, const api::Hello& hello) {
  const bool is_modelled = is_modelled_node(hello);
  if (is_modelled == (kind == store::DataKind::kSynthetic)) return {};
  if (!is_modelled)
    return fail(Code::kFailedPrecondition,
                fmt::format("node {} is real, and the database is synthetic; give the controller "
                            "another --database for real nodes",
                            hello.name()));
  if (kind == store::DataKind::kReal)
    return fail(Code::kFailedPrecondition,
                fmt::format("node {} is modelled, and the database has data of real nodes; a "
                            "fleet needs a controller with a --database of its own",
                            hello.name()));
  return fail(Code::kFailedPrecondition,
              fmt::format("node {} is modelled, and the database is empty: an agent with a "
                          "certificate does not make it synthetic, which would lock out real "
                          "nodes; start the controller with --synthetic, or attach the fleet over "
                          "the unix socket first",
                          hello.name()));
}

plan::PlanNode plan_node_of(const fleet::NodeState& node) {
  plan::PlanNode planned{
      .name = node.hello->name(), .endpoints = {}, .hardware = hardware_of(*node.hello)};
  for (const api::Nic& nic : node.hello->nics())
    planned.endpoints.push_back({.kind = "nic",
                                 .name = fmt::format("{}:{}", nic.device(), nic.port()),
                                 .pci_address = nic.pci_address(),
                                 .active = nic.state() == "active",
                                 .rate_bits_per_second = nic.rate_bits_per_second()});
  for (const api::Gpu& gpu : node.hello->gpus()) {
    if (gpu.state() == "hidden") {
      planned.hidden_gpus.push_back(gpu.pci_address());
      continue;
    }
    planned.endpoints.push_back({.kind = "gpu",
                                 .name = gpu.name(),
                                 .pci_address = gpu.pci_address(),
                                 .active = gpu.state() == "active",
                                 .distances = {gpu.distances().begin(), gpu.distances().end()}});
  }
  return planned;
}

plan::TopologyNode topology_node_of(const fleet::NodeState& node) {
  plan::TopologyNode out{.name = node.hello->name(),
                         .labels = {node.hello->facts().begin(), node.hello->facts().end()}};
  for (const auto& [key, value] : node.hello->labels()) out.labels[key] = value;
  std::vector<const api::Nic*> nics;
  for (const api::Nic& nic : node.hello->nics()) nics.push_back(&nic);
  std::ranges::stable_sort(nics, {}, [](const api::Nic* nic) { return nic->pci_address(); });
  for (const api::Nic* nic : nics) {
    out.guids.push_back(nic->guid());
    out.netdevs.push_back(nic->netdev());
  }
  return out;
}

fleet::NodeState state_of(const store::NodeRow& row) {
  const auto said = std::make_shared<api::Hello>();
  api::Hello& hello = *said;
  hello.set_name(row.name);
  hello.set_node_id(row.node_id);
  hello.set_version(row.version);
  hello.mutable_facts()->insert(row.described.begin(), row.described.end());
  hello.mutable_facts()->insert(row.facts.begin(), row.facts.end());
  hello.mutable_labels()->insert(row.labels.begin(), row.labels.end());
  for (const store::EndpointRow& endpoint : row.endpoints) {
    if (endpoint.kind == "nic")
      *hello.add_nics() = to_api(endpoint);
    else
      *hello.add_gpus() = gpu_of(endpoint);
  }
  fleet::NodeState node;
  node.hello = said;
  node.address = row.address;
  node.last_seen_at_unix = row.last_seen_at;
  return node;
}

std::string endpoint_text(const std::string& node, const std::string& endpoint) {
  return endpoint.empty() ? node : fmt::format("{}/{}", node, endpoint);
}

api::NodeInfo to_api(const fleet::NodeState& node) {
  const bool attached = node.presence == fleet::NodePresence::kAttached;
  api::NodeInfo info;
  info.set_name(node.hello->name());
  info.set_node_id(node.hello->node_id());
  info.set_state(
      std::string(text_of(attached ? api::NodePresence::kAttached : api::NodePresence::kLost)));
  info.set_version(node.hello->version());
  info.set_address(node.address);
  if (node.attached_at_unix > 0) info.set_attached_at(rfc3339(node.attached_at_unix));
  if (node.last_seen_at_unix > 0) info.set_last_seen_at(rfc3339(node.last_seen_at_unix));
  *info.mutable_nics() = node.hello->nics();
  *info.mutable_gpus() = node.hello->gpus();
  if (node.spool_records) info.set_spool_records(*node.spool_records);
  info.set_busy_task_id(node.busy_task_id);
  if (attached && node.busy) {
    info.set_busy(node.busy->reasons_size() > 0);
    if (info.busy()) info.add_busy_reasons(fleet::busy_text(node));
  }
  return info;
}

api::NodeInfo to_api(const store::NodeRow& row) {
  api::NodeInfo info = to_api(state_of(row));
  info.mutable_facts()->insert(row.described.begin(), row.described.end());
  info.mutable_stack_versions()->insert(row.facts.begin(), row.facts.end());
  info.mutable_stack_settings()->insert(row.settings.begin(), row.settings.end());
  add_stack_hash(info);
  return info;
}

api::RunPlan to_api(const plan::PlanOutline& outline) {
  const plan::Plan& plan = outline.head();
  api::RunPlan out;
  out.set_schema_version(1);
  out.set_suite(plan.suite);
  for (const std::string& node : plan.nodes) out.add_nodes(node);
  out.set_rounds(plan.rounds);
  out.set_expected_seconds(plan.expected_seconds);
  out.set_expected_bytes(plan.expected_bytes);
  out.set_tasks_total(static_cast<double>(outline.tasks()));
  if (!plan.topology_source.empty()) out.set_topology(plan.topology_source);
  for (const std::string& note : plan.notes) out.add_notes(note);
  for (const plan::PlannedStage& stage : plan.stages) *out.add_planned_stages() = to_api(stage);
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    *out.add_planned_rounds() = to_api(plan, round);
    if (outline.tasks() > plan::kMostListedTasks) continue;
    for (const plan::PlannedTask& task : outline.tasks_of(round)) *out.add_tasks() = to_api(task);
  }
  return out;
}

api::RunSummary to_api(const store::RunSummaryRow& row) {
  api::RunSummary summary;
  summary.set_schema_version(1);
  summary.set_run_id(row.run.run_id);
  summary.set_suite(row.run.suite);
  summary.set_state(std::string(text_of(row.run.state)));
  if (!row.run.outcome.empty()) summary.set_outcome(row.run.outcome);
  if (!row.run.reason.empty()) summary.set_reason(row.run.reason);
  summary.set_trigger(row.run.trigger);
  summary.set_requested_by(row.run.requested_by);
  summary.set_created_at(rfc3339(row.run.created_at));
  if (row.run.started_at > 0) summary.set_started_at(rfc3339(row.run.started_at));
  if (row.run.ended_at > 0) summary.set_ended_at(rfc3339(row.run.ended_at));
  summary.set_tasks_total(row.tasks_total);
  summary.set_tasks_ended(row.tasks_ended);
  summary.mutable_outcomes()->insert(row.outcomes.begin(), row.outcomes.end());
  for (const std::string& node : row.run.nodes) summary.add_nodes(node);
  if (row.run.judged_at > 0) summary.set_judged_at(rfc3339(row.run.judged_at));
  summary.set_findings_new(row.run.findings_new);
  summary.set_findings_confirmed(row.run.findings_confirmed);
  return summary;
}

api::TaskDetail to_api(const store::TaskDetailRow& row) {
  api::TaskDetail task;
  task.set_task_id(row.task.task_id);
  task.set_stage(row.task.stage);
  task.set_round(row.task.round);
  task.set_kernel(row.task.kernel);
  for (const store::RankRow& rank : row.task.ranks)
    task.add_endpoints(endpoint_text(rank.node, rank.endpoint));
  task.set_state(std::string(text_of(row.task.state)));
  if (!row.task.outcome.empty()) task.set_outcome(row.task.outcome);
  if (!row.task.reason.empty()) task.set_reason(row.task.reason);
  task.set_attempts(row.task.attempts);
  task.mutable_parameters()->insert(row.task.parameters.begin(), row.task.parameters.end());
  for (const store::RankDetailRow& rank : row.ranks) *task.add_ranks() = to_api(rank);
  return task;
}

api::ResultPoint to_api(store::ResultRow row) {
  api::ResultPoint point;
  point.set_run_id(row.run_id);
  point.set_task_id(row.task_id);
  point.set_attempt(row.attempt);
  point.set_kernel(row.kernel);
  point.set_revision(row.revision);
  for (const std::string& endpoint : row.endpoints) point.add_endpoints(endpoint);
  point.set_measured_at(rfc3339(row.measured_at));
  if (!row.outcome.empty()) point.set_outcome(row.outcome);
  *point.mutable_point() = std::move(row.point);
  point.mutable_parameters()->insert(row.parameters.begin(), row.parameters.end());
  point.mutable_facts()->insert(row.facts.begin(), row.facts.end());
  return point;
}

store::TaskRow task_row(const plan::Plan& plan, const plan::PlannedTask& task,
                        const std::map<std::string, std::string>& node_ids) {
  store::TaskRow row;
  row.task_id = task.id;
  row.stage = task.stage;
  row.round = task.round;
  row.kernel = task.kernel;
  row.parameters = task.parameters.all();
  row.identity_parameters = task.identity_parameters;
  // A task that is added has the kernel of a stage.
  if (const plan::PlannedStage* stage =
          row_where(plan.stages, &plan::PlannedStage::kernel, task.kernel);
      stage != nullptr)
    row.metrics = stage->metrics;
  for (const plan::PlannedRank& rank : task.ranks)
    row.ranks.push_back({node_ids.at(rank.node), rank.node, plan::text_of(rank)});
  row.deadline_seconds = task.deadline_seconds;
  row.expected_seconds = task.expected_seconds;
  row.expected_bytes = task.expected_bytes;
  if (task.waived_reason.empty()) return row;
  row.state = store::TaskState::kEnded;
  row.outcome = kWaived;
  row.reason = task.waived_reason;
  return row;
}

}  // namespace railgauge
