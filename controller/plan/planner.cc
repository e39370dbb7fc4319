#include "controller/plan/planner.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "controller/plan/choice.h"
#include "kernels/core/params.h"
#include "kernels/core/pci_distance.h"
#include "kernels/core/text.h"

namespace railgauge::plan {
namespace {

constexpr double kDefaultTimeCapSeconds = 1;
constexpr const char* kGpuParameter = "gpu";  // a number; which GPU's memory a rank on a NIC uses

tl::unexpected<Error> refuse(std::string message) {
  return fail(Code::kInvalidArgument, "plan: " + std::move(message));
}

// Text to what the kernel would see; absent when the kernel has no such parameter of that type.
const ParameterInfo* find_parameter(const KernelInfo& kernel, std::string_view name,
                                    std::string_view type) {
  const auto& all = kernel.parameters();
  const auto found = std::ranges::find(all, name, &ParameterInfo::name);
  return found != all.end() && found->type() == type ? &*found : nullptr;
}

bool measures_bandwidth(const KernelInfo& kernel) {
  return std::ranges::any_of(kernel.metrics(), [](const std::string& metric) {
    return metric.find("bandwidth") != std::string::npos;
  });
}

// Points for each size: a kernel of several GPUs, which the text `gpus` names ("all" or a list),
// may measure every ordered pair of them.
std::size_t points_per_size(const KernelInfo& kernel, const Params& params, std::size_t node_gpus) {
  if (find_parameter(kernel, "gpus", "text") == nullptr) return 1;
  const std::string& chosen = params.text("gpus");
  const std::size_t gpus =
      chosen == "all" ? node_gpus : static_cast<std::size_t>(std::ranges::count(chosen, ',')) + 1;
  return gpus < 2 ? 1 : gpus * (gpus - 1);
}

TaskCost cost_of(const KernelInfo& kernel, const Params& params, double rate_bits_per_second,
                 std::size_t node_gpus) {
  std::vector<std::uint64_t> sizes{0};
  if (find_parameter(kernel, "sizes", "bytes_list") != nullptr) sizes = params.bytes_list("sizes");
  std::int64_t iterations = 0;
  if (find_parameter(kernel, "iterations", "integer") != nullptr)
    iterations = params.integer("iterations");
  double cap_seconds = kDefaultTimeCapSeconds;
  if (find_parameter(kernel, "time_cap", "duration") != nullptr)
    cap_seconds = params.duration_ns("time_cap") / 1e9;
  if (find_parameter(kernel, "duration", "duration") != nullptr)  // without a stop rule
    cap_seconds = std::max(cap_seconds, params.duration_ns("duration") / 1e9);

  const auto points = static_cast<double>(points_per_size(kernel, params, node_gpus));
  const double measuring_seconds = cap_seconds * static_cast<double>(sizes.size()) * points;
  TaskCost cost{.seconds = measuring_seconds + kTaskOverheadSeconds};
  for (const std::uint64_t size : sizes)
    cost.bytes += static_cast<double>(iterations) * static_cast<double>(size) * points;
  if (iterations <= 0 && measures_bandwidth(kernel))
    cost.bytes = rate_bits_per_second / 8 * measuring_seconds;
  return cost;
}

// One stage while its tasks are laid out.
struct StagePlan {
  const Stage& stage;
  std::uint32_t index;
  const KernelInfo& kernel;
  Params params{};
  std::vector<std::string> identity{};
  std::vector<std::string> site_defaults{};
  std::vector<std::vector<Choice>> choices{};  // by node; more than one only with `each`
};

// That the kernel can run where the placement puts it.
Status check_placement(const Stage& stage, std::uint32_t index, const KernelInfo& kernel) {
  const Placement& placement = stage.placement;
  const bool loopback = placement.kind == PlacementKind::kLoopback;
  const std::string where = loopback ? "loopback" : fmt::format("each: {}", placement.each);
  const bool any_kind = placement.is_by_rail() && kernel.endpoint_kind() != "none";
  const std::string wanted = loopback ? std::string("nic") : placement.each;
  if (!wanted.empty() && !any_kind && kernel.endpoint_kind() != wanted)
    return refuse(fmt::format("stage {}: {} does not fit {}, which runs on {}", index, where,
                              kernel.name(), kernel.endpoint_kind()));
  if (!placement.chooses_gpu()) return {};
  if (find_parameter(kernel, kGpuParameter, "text") == nullptr)
    return refuse(fmt::format("stage {}: each: {} does not fit {}, which uses no GPU's memory",
                              index, placement.each, kernel.name()));
  if (stage.parameters.contains(kGpuParameter))
    return refuse(fmt::format("stage {}: each: {} chooses the GPU; leave out the parameter gpu",
                              index, placement.each));
  return {};
}

// That the kernel runs on the port that its series is labelled with.
Status check_devices(const Stage& stage, std::uint32_t index, const KernelInfo& kernel,
                     const Params& params) {
  if (find_parameter(kernel, kDevicesParameter, "text") == nullptr) return {};
  const auto problem = devices_problem(stage.placement, params.text(kDevicesParameter));
  if (problem) return refuse(fmt::format("stage {}: {}", index, *problem));
  return {};
}

// A node with fewer endpoints than others lacks the last rails: told, not left out.
void fill_rails(std::span<const PlanNode> nodes, const KernelInfo& kernel,
                std::vector<std::vector<Choice>>& choices) {
  std::size_t rails = 0;
  for (const auto& one : choices) rails = std::max(rails, one.size());
  for (std::size_t node = 0; node < choices.size(); ++node)
    for (std::size_t rail = choices[node].size(); rail < rails; ++rail)
      choices[node].push_back({.reason = fmt::format("{} has no {} on rail {}", nodes[node].name,
                                                     kernel.endpoint_kind(), rail)});
}

Result<StagePlan> prepare_stage(const Stage& stage, std::uint32_t index,
                                std::span<const PlanNode> nodes,
                                std::span<const KernelInfo> kernels, const Site& site) {
  const auto kernel = std::ranges::find(kernels, stage.kernel, &KernelInfo::name);
  if (kernel == kernels.end())
    return refuse(fmt::format("stage {}: kernel {} is unknown here; is an agent attached", index,
                              in_quotes(stage.kernel)));
  std::map<std::string, std::string> given = stage.parameters;
  auto from_site = add_site_defaults(site, *kernel, given);
  if (!from_site) return refuse(fmt::format("stage {}: {}", index, from_site.error().message));
  auto params = Params::parse(*kernel, given);
  if (!params) return refuse(fmt::format("stage {}: {}", index, params.error().message));
  StagePlan plan{.stage = stage,
                 .index = index,
                 .kernel = *kernel,
                 .params = std::move(*params),
                 .site_defaults = std::move(*from_site)};
  for (const ParameterInfo& parameter : kernel->parameters())
    // At its default a parameter is no part of it, or one that a later version adds would begin all
    // series anew; a GPU that the placement chooses stands in the endpoint, by its slot.
    if (parameter.identity() && !plan.params.is_default(parameter.name()) &&
        !(stage.placement.chooses_gpu() && parameter.name() == kGpuParameter))
      plan.identity.push_back(parameter.name());
  RG_TRY_OK(check_placement(stage, index, *kernel));
  RG_TRY_OK(check_devices(stage, index, *kernel, plan.params));
  for (const PlanNode& node : nodes)
    plan.choices.push_back(choose_endpoints(node, kernel->endpoint_kind(), stage.placement));
  if (stage.placement.is_by_rail()) fill_rails(nodes, *kernel, plan.choices);
  return plan;
}

// Where a rank is: a node, and which of its choices.
struct Seat {
  std::size_t node;
  std::size_t choice = 0;
  bool operator==(const Seat&) const = default;
};
// The seats of each task, by round within the stage.
using Round = std::vector<std::vector<Seat>>;

// One task a node at once, all its ranks on one choice; with `each` the node's endpoints one after
// the other, since they share the node's PCIe and memory.
std::vector<Round> lay_out_within_nodes(const StagePlan& plan, std::size_t ranks) {
  std::vector<Round> rounds;
  for (std::size_t node = 0; node < plan.choices.size(); ++node)
    for (std::size_t choice = 0; choice < plan.choices[node].size(); ++choice) {
      if (rounds.size() <= choice) rounds.emplace_back();
      rounds[choice].emplace_back(ranks, Seat{node, choice});
    }
  return rounds;
}

// All choices of a node; without `each` there is one.
void add_seats(const StagePlan& plan, std::size_t node, std::vector<Seat>& seats) {
  for (std::size_t choice = 0; choice < plan.choices[node].size(); ++choice)
    seats.push_back({node, choice});
}

std::vector<Round> lay_out_pairs(const StagePlan& plan, std::size_t nodes) {
  std::vector<Round> rounds;
  for (const auto& pairs : pair_rounds(nodes)) {
    Round& round = rounds.emplace_back();
    for (const auto& [first, second] : pairs) {
      std::vector<Seat>& seats = round.emplace_back();
      add_seats(plan, first, seats);
      add_seats(plan, second, seats);
    }
  }
  return rounds;
}

// Rails one after the other, since the endpoints of a node share its PCIe and memory.
std::vector<Round> lay_out_group(const StagePlan& plan, std::size_t nodes) {
  std::vector<Round> rounds;
  if (!plan.stage.placement.is_by_rail()) {
    std::vector<Seat>& seats = rounds.emplace_back().emplace_back();
    for (std::size_t node = 0; node < nodes; ++node) add_seats(plan, node, seats);
    return rounds;
  }
  for (std::size_t rail = 0; rail < plan.choices.front().size(); ++rail) {
    std::vector<Seat>& seats = rounds.emplace_back().emplace_back();
    for (std::size_t node = 0; node < nodes; ++node) seats.push_back({node, rail});
  }
  return rounds;
}

std::vector<Round> lay_out_nodes(const StagePlan& plan, std::size_t nodes) {
  std::vector<Round> rounds(1);
  for (std::size_t node = 0; node < nodes; ++node)
    add_seats(plan, node, rounds.front().emplace_back());
  return rounds;
}

Result<std::vector<Round>> lay_out(const StagePlan& plan, std::size_t nodes) {
  const PlacementKind kind = plan.stage.placement.kind;
  if (kind == PlacementKind::kPairs && nodes < 2)
    return refuse(
        fmt::format("stage {}: pairs need at least 2 nodes, {} chosen", plan.index, nodes));
  std::vector<Round> rounds = kind == PlacementKind::kPairs   ? lay_out_pairs(plan, nodes)
                              : kind == PlacementKind::kGroup ? lay_out_group(plan, nodes)
                              : kind == PlacementKind::kNode  ? lay_out_nodes(plan, nodes)
                              : kind == PlacementKind::kLocal ? lay_out_within_nodes(plan, 1)
                                                              : lay_out_within_nodes(plan, 2);
  const std::uint32_t least = plan.kernel.min_ranks();
  const std::uint32_t most = plan.kernel.max_ranks();
  for (const Round& round : rounds)
    for (const auto& seats : round)
      if (seats.size() < least || (most != 0 && seats.size() > most))
        return refuse(fmt::format("stage {}: {} takes {} to {} ranks, the placement gives {}",
                                  plan.index, plan.kernel.name(), least,
                                  most == 0 ? "any number of" : fmt::to_string(most),
                                  seats.size()));
  return rounds;
}

// What the placement knows of it beside its endpoints. Ranks in one place are in the same.
void note_placement(const StagePlan& plan, const Choice& choice, PlannedTask& task) {
  if (plan.stage.placement.kind == PlacementKind::kLoopback) task.facts[kLoopbackFact] = "true";
  if (choice.gpu.empty()) return;
  task.parameters[kGpuParameter] = choice.gpu.substr(std::string_view("gpu").size());
  task.facts[kDistanceFact] = choice.distance;
}

PlannedTask make_task(const StagePlan& plan, std::span<const PlanNode> nodes,
                      const std::vector<Seat>& ranks) {
  PlannedTask task{.stage = plan.index,
                   .kernel = plan.kernel.name(),
                   .parameters = plan.params.effective(),
                   .identity_parameters = plan.identity,
                   .site_defaults = plan.site_defaults};
  double slowest = 0;
  std::size_t gpus = 0;
  for (const Seat& seat : ranks) {
    const Choice& choice = plan.choices[seat.node][seat.choice];
    task.ranks.push_back(
        {.node = nodes[seat.node].name, .endpoint = choice.endpoint, .gpu = choice.gpu});
    note_placement(plan, choice, task);
    const bool is_new = task.ranks.size() == 1 || !(seat == ranks[task.ranks.size() - 2]);
    if (!choice.reason.empty() && is_new)
      task.waived_reason += (task.waived_reason.empty() ? "" : "; ") + choice.reason;
    const double rate = choice.rate_bits_per_second;
    slowest = task.ranks.size() == 1 ? rate : std::min(slowest, rate);
    const auto here = std::ranges::count(nodes[seat.node].endpoints, "gpu", &NodeEndpoint::kind);
    gpus = std::max(gpus, static_cast<std::size_t>(here));
  }
  const TaskCost cost = cost_of(plan.kernel, plan.params, slowest, gpus);
  task.raw_samples = plan.stage.raw_samples;
  task.deadline_seconds =
      plan.stage.deadline_seconds.value_or(kDeadlineFactor * cost.seconds + kDeadlineSlackSeconds);
  if (!task.waived_reason.empty()) return task;
  task.expected_seconds = cost.seconds;
  task.expected_bytes = cost.bytes;
  return task;
}

Status check_nodes(std::span<const PlanNode> nodes) {
  if (nodes.empty()) return refuse("no nodes chosen");
  std::unordered_set<std::string_view> names;
  for (const PlanNode& node : nodes)
    if (!names.insert(node.name).second)
      return refuse(fmt::format("node {} is named twice", node.name));
  return {};
}

Status append_stage(const StagePlan& stage, std::span<const PlanNode> nodes, Plan& plan) {
  const std::vector<Round> rounds = RG_TRY(lay_out(stage, nodes.size()));
  std::size_t tasks = plan.tasks.size();
  for (const Round& round : rounds) tasks += round.size();
  if (tasks > kMaxPlannedTasks)
    return refuse(fmt::format("more than {} tasks; choose fewer nodes", kMaxPlannedTasks));
  for (const Round& round : rounds) {
    double longest = 0;
    for (const auto& ranks : round) {
      PlannedTask task = make_task(stage, nodes, ranks);
      task.id = fmt::format("t{:04}", plan.tasks.size() + 1);
      task.round = plan.rounds;
      longest = std::max(longest, task.expected_seconds);
      plan.expected_bytes += task.expected_bytes;
      plan.tasks.push_back(std::move(task));
    }
    plan.expected_seconds += longest;
    ++plan.rounds;
  }
  return {};
}

}  // namespace

std::vector<std::vector<std::pair<std::size_t, std::size_t>>> pair_rounds(std::size_t n) {
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> rounds;
  if (n < 2) return rounds;
  // The last seat of an even circle stays, the others move on by one each round. With odd n that
  // seat is empty, and who sits opposite rests.
  const std::size_t circle = n + n % 2 - 1;
  for (std::size_t turn = 0; turn < circle; ++turn) {
    auto& round = rounds.emplace_back();
    if (n % 2 == 0) round.emplace_back(turn, n - 1);
    for (std::size_t step = 1; step <= circle / 2; ++step) {
      const std::size_t left = (turn + step) % circle;
      const std::size_t right = (turn + circle - step) % circle;
      round.emplace_back(std::min(left, right), std::max(left, right));
    }
    std::ranges::sort(round);
  }
  return rounds;
}

Result<Plan> make_plan(const Suite& suite, std::span<const PlanNode> nodes,
                       std::span<const KernelInfo> kernels, const Site& site) {
  RG_TRY_OK(check_nodes(nodes));
  Plan plan{.suite = suite.name};
  for (const PlanNode& node : nodes) plan.nodes.push_back(node.name);
  std::uint32_t index = 0;
  for (const Stage& stage : suite.stages)
    RG_TRY_OK(
        append_stage(RG_TRY(prepare_stage(stage, index++, nodes, kernels, site)), nodes, plan));
  return plan;
}

std::string text_of(const PlannedRank& rank) {
  return rank.gpu.empty() ? rank.endpoint : fmt::format("{}+{}", rank.endpoint, rank.gpu);
}

TaskCost expected_cost(const KernelInfo& kernel,
                       const std::map<std::string, std::string>& effective_parameters,
                       double rate_bits_per_second, std::size_t node_gpus) {
  const auto params = Params::parse(kernel, effective_parameters);
  return params ? cost_of(kernel, *params, rate_bits_per_second, node_gpus) : TaskCost{};
}

}  // namespace railgauge::plan
