#include "controller/control/run_tasks.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/text/fold.h"

namespace railgauge::run {
namespace {

using Nodes = std::map<std::string, fleet::NodeState>;

constexpr std::string_view kResumedWords = "the rest of run ";

bool is_nic_port(const std::string& endpoint) { return endpoint.find(':') != std::string::npos; }

// The rate of the port that the rank uses; 0 if it is not known.
double rate_of(const plan::PlannedRank& rank, const Nodes& nodes) {
  const auto node = nodes.find(rank.node);
  if (node == nodes.end()) return 0;
  // Compared without a text of its own: a round has thousands of ports.
  const std::size_t colon = rank.endpoint.rfind(':');
  const std::string_view device = std::string_view(rank.endpoint).substr(0, colon);
  for (const api::Nic& nic : node->second.hello->nics())
    if (nic.device() == device && rank.endpoint.substr(colon + 1) == std::to_string(nic.port()))
      return nic.rate_bits_per_second();
  return 0;
}

// NCCL and MPI choose their NICs themselves: at most all active ports of the node.
double rate_of_node(const std::string& name, const Nodes& nodes) {
  const auto node = nodes.find(name);
  if (node == nodes.end()) return 0;
  double rate = 0;
  for (const api::Nic& nic : node->second.hello->nics())
    if (nic.state() == "active") rate += nic.rate_bits_per_second();
  return rate;
}

// The endpoints that the rank leases. A rank without an endpoint excludes others without one on its
// node.
std::vector<std::string> endpoints_of(const plan::PlannedRank& rank) {
  std::vector<std::string> endpoints;
  if (!rank.endpoint.empty() || rank.gpu.empty())
    endpoints.push_back(fmt::format("{}/{}", rank.node, rank.endpoint));
  if (!rank.gpu.empty()) endpoints.push_back(fmt::format("{}/{}", rank.node, rank.gpu));
  return endpoints;
}

PairEnd end_of(const plan::PlannedRank& rank) {
  return {.node = rank.node,
          .name = fmt::format("{}/{}", rank.node, plan::text_of(rank)),
          .kind = fmt::format("{} {}", rank.rail, rank.gpu),
          .leaf = rank.leaf,
          .endpoints = endpoints_of(rank)};
}

RunTaskSpec spec_of(const plan::PlannedTask& task, const Nodes& nodes) {
  RunTaskSpec spec{
      .round = task.round, .waived = !task.waived_reason.empty(), .reason = task.waived_reason};
  spec.stage = task.stage;
  spec.deadline_seconds = task.deadline_seconds;
  spec.expected_seconds = task.longest_seconds;
  spec.loads_fabric = task.loads_fabric;
  std::set<std::string> nodes_used;
  std::set<std::string> leaves;
  std::set<std::string> chooses_nics;  // nodes
  for (const plan::PlannedRank& rank : task.ranks) {
    nodes_used.insert(rank.node);
    if (!rank.leaf.empty()) leaves.insert(rank.leaf);
    if (is_nic_port(rank.endpoint))
      spec.load_bits_per_second += rate_of(rank, nodes);
    else
      chooses_nics.insert(rank.node);
    for (std::string& endpoint : endpoints_of(rank)) spec.endpoints.push_back(std::move(endpoint));
  }
  if (nodes_used.size() > 1)
    for (const std::string& node : chooses_nics)
      spec.load_bits_per_second += rate_of_node(node, nodes);
  if (task.ranks.size() == 2)
    spec.load_bits_per_second /= 2;  // one end sends what the other receives
  if (task.ranks.size() == 2 && nodes_used.size() == 2)
    for (const plan::PlannedRank& rank : task.ranks) spec.ends.push_back(end_of(rank));
  spec.nodes = static_cast<std::uint32_t>(nodes_used.size());
  spec.leaves.assign(leaves.begin(), leaves.end());
  return spec;
}

}  // namespace

std::vector<RunTaskSpec> run_tasks_of(std::span<const plan::PlannedTask> tasks,
                                      const Nodes& nodes) {
  std::vector<RunTaskSpec> specs;
  specs.reserve(tasks.size());
  for (const plan::PlannedTask& task : tasks) specs.push_back(spec_of(task, nodes));
  return specs;
}

RoundHead PlannedTasks::head(std::uint32_t round) const {
  const plan::PlannedRound& info = book_.head().round_infos.at(round);
  return {.stage = info.stage, .tasks = info.tasks};
}

std::vector<IndexedTask> PlannedTasks::tasks_of(std::uint32_t round) const {
  const plan::RoundTasks planned = book_.round(round);
  const auto& nodes = nodes_();
  std::vector<IndexedTask> tasks;
  tasks.reserve(planned->size());
  std::size_t index = book_.outline().first_of(round);
  for (const plan::PlannedTask& task : *planned) tasks.push_back({index++, spec_of(task, nodes)});
  return tasks;
}

RunTaskSpec PlannedTasks::task(std::size_t index) const {
  return spec_of(*book_.at(index), nodes_());
}

LeafUplinks uplinks_of(const plan::Topology& topology, const Nodes& nodes) {
  std::map<std::string, double> fastest;  // port, by leaf
  for (const auto& [name, node] : nodes) {
    const auto place = topology.nodes.find(name);
    if (place == topology.nodes.end()) continue;
    double& rate = fastest[place->second.leaf];
    for (const api::Nic& nic : node.hello->nics())
      rate = std::max(rate, nic.rate_bits_per_second());
  }
  LeafUplinks uplinks;
  for (const auto& [leaf, links] : topology.uplinks)
    if (const auto rate = fastest.find(leaf); rate != fastest.end() && rate->second > 0)
      uplinks[leaf] = links * rate->second;
  return uplinks;
}

std::vector<ForecastTask> forecast_rounds(const plan::Plan& plan) {
  std::vector<ForecastTask> rounds;
  rounds.reserve(plan.rounds);
  for (const plan::PlannedRound& round : plan.round_infos)
    rounds.push_back({static_cast<std::uint32_t>(rounds.size()), round.expected_seconds});
  return rounds;
}

std::vector<TimedTask> timed_tasks(std::span<const plan::PlannedTask> planned) {
  std::vector<TimedTask> tasks;
  tasks.reserve(planned.size());
  for (const plan::PlannedTask& task : planned)
    tasks.push_back({task.stage, task.round, task.longest_seconds});
  return tasks;
}

std::vector<store::TaskRestRow> task_rest_of(const plan::Plan& plan) {
  std::vector<store::TaskRestRow> rest;
  for (std::uint32_t stage = 0; stage < plan.stages.size(); ++stage)
    if (plan.stages[stage].tasks > 0)
      rest.push_back(
          {.stage = stage, .kernel = plan.stages[stage].kernel, .tasks = plan.stages[stage].tasks});
  return rest;
}

std::vector<store::StageTimeRow> stage_times(const plan::Plan& plan,
                                             std::span<const StageSeconds> stages) {
  std::vector<store::StageTimeRow> rows;
  for (const StageSeconds& stage : stages)
    rows.push_back({.key = plan.stages[stage.stage].time_key,
                    .rounds = stage.rounds,
                    .longest_seconds = stage.longest_seconds,
                    .seconds = stage.seconds});
  return rows;
}

std::string resumed_text(const std::string& run_id) {
  return fmt::format("{}{}", kResumedWords, run_id);
}

std::string text_of(std::span<const RunWait> waits) {
  std::vector<std::string> texts;
  for (const RunWait& wait : waits) {
    const std::string nodes = fold_names(wait.nodes);
    switch (wait.kind) {
      case RunWait::Kind::kNodes:
        texts.push_back(fmt::format("run {} on {}", wait.run_id, nodes));
        break;
      case RunWait::Kind::kQueue:
        texts.push_back(fmt::format("run {}, which goes first on {}", wait.run_id, nodes));
        break;
      case RunWait::Kind::kYield:
        texts.push_back(fmt::format("run {} to give up {}", wait.run_id, nodes));
        break;
      case RunWait::Kind::kLent:
        texts.push_back(fmt::format("run {} to give back {}", wait.run_id, nodes));
        break;
    }
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string text_of(const std::map<std::string, std::set<std::string>>& uplink_waits) {
  std::vector<std::string> texts;
  for (const auto& [run_id, leaves] : uplink_waits)
    texts.push_back(
        fmt::format("run {} on the uplinks of {}", run_id,
                    fold_names(std::vector<std::string>(leaves.begin(), leaves.end()))));
  return fmt::format("{}", fmt::join(texts, "; "));
}

void show_progress(const RunMachine& machine, const RunForecast& forecast,
                   api::RunProgress& progress) {
  const RoundEngine& rounds = machine.rounds();
  progress.set_rounds_total(rounds.rounds_total());
  progress.set_round(rounds.rounds_begun());
  progress.set_failures(machine.failures());
  progress.set_waiting_again(static_cast<std::uint32_t>(rounds.leftovers()));
  if (!rounds.held_by().empty()) progress.set_held_by(rounds.held_by());
  if (machine.state() == RunState::kRunning)
    progress.set_seconds_left(
        forecast.seconds_left(rounds.rounds_begun(), fleet::monotonic_seconds()));
}

}  // namespace railgauge::run
