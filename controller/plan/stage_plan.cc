#include "controller/plan/stage_plan.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "controller/plan/rounds/pair_rounds.h"
#include "controller/plan/suite/suite_reader.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/pci_distance.h"
#include "kernels/core/slice_words.h"
#include "kernels/core/text/text.h"

namespace railgauge::plan {
namespace {

constexpr double kDefaultTimeCapSeconds = 1;

// Longest time that the kernel measures one point.
double cap_seconds_of(const KernelInfo& kernel, const Params& params) {
  double seconds = kDefaultTimeCapSeconds;
  if (find_parameter(kernel, "time_cap", "duration") != nullptr)
    seconds = params.duration_ns("time_cap") / 1e9;
  // A kernel without a stop rule measures for its `duration`.
  if (find_parameter(kernel, "duration", "duration") != nullptr)
    seconds = std::max(seconds, params.duration_ns("duration") / 1e9);
  return seconds;
}

// Longest time of the proof phases, of all sizes together.
double proof_seconds_of(const KernelInfo& kernel, const Params& params) {
  if (find_parameter(kernel, "proof_time", "duration") == nullptr) return 0;
  if (find_parameter(kernel, "verify", "boolean") != nullptr && !params.boolean("verify")) return 0;
  return params.duration_ns("proof_time") / 1e9;
}

}  // namespace

const ParameterInfo* find_parameter(const KernelInfo& kernel, std::string_view name,
                                    std::string_view type) {
  const auto& all = kernel.parameters();
  const auto found = std::ranges::find(all, name, &ParameterInfo::name);
  return found != all.end() && found->type() == type ? &*found : nullptr;
}

std::string time_key(const KernelInfo& kernel, const Params& params, PlacementKind placement,
                     std::size_t nodes) {
  constexpr std::array<std::string_view, 6> kWords{"pairs", "group", "node",
                                                   "leaf",  "local", "loopback"};
  std::string key =
      fmt::format("{} on {}", kernel.name(), kWords.at(static_cast<std::size_t>(placement)));
  if (placement == PlacementKind::kGroup || placement == PlacementKind::kLeaf)
    key += fmt::format(" of {} nodes", nodes);
  for (const auto& [name, text] : params.effective())
    if (!params.is_default(name)) key += fmt::format(", {}={}", name, text);
  return key;
}

bool measures_bandwidth(const KernelInfo& kernel) {
  return std::ranges::any_of(kernel.metrics(), [](const std::string& metric) {
    return metric.find("bandwidth") != std::string::npos;
  });
}

// Reads the parameters by name; a kernel without one of them has its default cost.
StageCost::StageCost(const KernelInfo& kernel, const Params& params) {
  std::vector<std::uint64_t> sizes{0};
  if (find_parameter(kernel, "sizes", "bytes_list") != nullptr) sizes = params.bytes_list("sizes");
  std::int64_t iterations = 0;
  if (find_parameter(kernel, "iterations", "integer") != nullptr)
    iterations = params.integer("iterations");
  seconds_per_point_ = cap_seconds_of(kernel, params) * static_cast<double>(sizes.size());
  proof_seconds_ = proof_seconds_of(kernel, params);
  for (const std::uint64_t size : sizes)
    bytes_per_point_ += static_cast<double>(iterations) * static_cast<double>(size);
  by_rate_ = iterations <= 0 && measures_bandwidth(kernel);
  if (find_parameter(kernel, "gpus", "text") == nullptr) return;
  const std::string& chosen = params.text("gpus");
  by_node_gpus_ = chosen == "all";
  if (!by_node_gpus_) named_gpus_ = static_cast<std::size_t>(std::ranges::count(chosen, ',')) + 1;
}

// Points are ordered pairs of GPUs; fewer than two GPUs give one point.
TaskCost StageCost::of(double rate_bits_per_second, std::size_t node_gpus) const {
  const std::size_t gpus = by_node_gpus_ ? node_gpus : named_gpus_;
  const auto points = static_cast<double>(gpus < 2 ? 1 : gpus * (gpus - 1));
  const double measuring_seconds = seconds_per_point_ * points;
  return {
      .seconds = measuring_seconds + proof_seconds_ + kTaskOverheadSeconds,
      .bytes = by_rate_ ? rate_bits_per_second / 8 * measuring_seconds : bytes_per_point_ * points,
      .bytes_follow_time = by_rate_};
}

// Traffic at a port's rate is less where the time is.
TaskCost StagePlan::expected(const TaskCost& longest) const {
  const double share = learned.value_or(1);
  return {.seconds = longest.seconds * share,
          .bytes = longest.bytes * (longest.bytes_follow_time ? share : 1),
          .bytes_follow_time = longest.bytes_follow_time};
}

namespace {

using Candidates = std::vector<const NodeEndpoint*>;

// Endpoints of the kind, and of the name where one is wanted. Active ones come first, then by slot,
// which a driver upgrade does not change; software devices, without a slot, come last. With
// `by_slot_alone` the state does not count: a rail keeps its place when another's endpoint is down.
Candidates candidates_of(const PlanNode& node, const std::string& kind, const std::string& wanted,
                         bool by_slot_alone = false) {
  Candidates candidates;
  for (const NodeEndpoint& endpoint : node.endpoints)
    if (endpoint.kind == kind && (wanted.empty() || endpoint.name == wanted))
      candidates.push_back(&endpoint);
  std::ranges::sort(candidates, {}, [&](const NodeEndpoint* endpoint) {
    return std::tuple(!by_slot_alone && !endpoint->active, endpoint->pci_address.empty(),
                      std::string_view(endpoint->pci_address), std::string_view(endpoint->name));
  });
  return candidates;
}

// Reason of a waived task.
std::string not_active(const PlanNode& node, const NodeEndpoint& endpoint) {
  return fmt::format("{}/{} is not active", node.name, endpoint.name);
}

// The endpoint, or the reason that it is down.
Choice choice_of(const PlanNode& node, const NodeEndpoint& endpoint) {
  if (!endpoint.active) return {.reason = not_active(node, endpoint)};
  return {.endpoint = endpoint.name, .rate_bits_per_second = endpoint.rate_bits_per_second};
}

// PCIe distance as the inventory reports it, or "unknown".
std::string distance_between(const NodeEndpoint& gpu, const NodeEndpoint& nic) {
  return value_of(gpu.distances, nic.name.substr(0, nic.name.rfind(':')),
                  std::string(kUnknownDistance));
}

Choice choice_of(const PlanNode& node, const NodeEndpoint& gpu, const NodeEndpoint& nic) {
  if (!gpu.active) return {.reason = not_active(node, gpu)};
  Choice choice = choice_of(node, nic);
  if (!choice.reason.empty()) return choice;
  choice.gpu = gpu.name;
  choice.distance = distance_between(gpu, nic);
  return choice;
}

// The first of the nearest candidates, active ones before others. `nics` is not empty.
const NodeEndpoint& nearest_to(const NodeEndpoint& gpu, const Candidates& nics) {
  return **std::ranges::min_element(nics, {}, [&](const NodeEndpoint* nic) {
    return std::tuple(!nic->active, pci_distance_rank(distance_between(gpu, *nic)));
  });
}

// All combinations, or each GPU with its nearest port.
std::vector<Choice> choose_gpus_and_nics(const PlanNode& node, bool only_nearest) {
  const Candidates gpus = candidates_of(node, "gpu", "");
  const Candidates nics = candidates_of(node, "nic", "");
  if (gpus.empty() || nics.empty())
    return {{.reason = fmt::format("{} has no {}", node.name,
                                   !gpus.empty()   ? "nic"
                                   : !nics.empty() ? "gpu"
                                                   : "gpu and no nic")}};
  std::vector<Choice> all;
  for (const NodeEndpoint* gpu : gpus) {
    if (only_nearest) {
      all.push_back(choice_of(node, *gpu, nearest_to(*gpu, nics)));
      continue;
    }
    for (const NodeEndpoint* nic : nics) all.push_back(choice_of(node, *gpu, *nic));
  }
  return all;
}

}  // namespace

// A kernel without endpoint has one empty choice, so that its tasks have a seat.
std::vector<Choice> choose_endpoints(const PlanNode& node, const std::string& kind,
                                     const Placement& placement) {
  if (kind == "none" || kind.empty()) return {Choice{}};
  if (placement.chooses_gpu()) return choose_gpus_and_nics(node, placement.each == "gpu");
  const std::string& wanted = placement.endpoint;
  const Candidates candidates = candidates_of(node, kind, wanted, placement.is_by_rail());
  if (candidates.empty())
    return {{.reason = wanted.empty() ? fmt::format("{} has no {}", node.name, kind)
                                      : fmt::format("{} has no {} {}", node.name, kind, wanted)}};
  if (!placement.each.empty() || placement.is_by_rail()) {
    std::vector<Choice> all;
    all.reserve(candidates.size());
    for (const NodeEndpoint* endpoint : candidates) all.push_back(choice_of(node, *endpoint));
    return all;
  }
  if (!candidates.front()->active && wanted.empty())
    return {{.reason = fmt::format("{} has no active {}", node.name, kind)}};
  return {choice_of(node, *candidates.front())};
}

namespace {

// A number; which GPU's memory a rank on a NIC uses.
constexpr const char* kGpuParameter = "gpu";

tl::unexpected<Error> refuse_stage(std::string message) {
  return fail(Code::kInvalidArgument, "plan: " + std::move(message));
}

// Refuses a placement on endpoints that the kernel cannot run on.
Status check_placement(const Stage& stage, std::uint32_t index, const KernelInfo& kernel) {
  const Placement& placement = stage.placement;
  const bool loopback = placement.kind == PlacementKind::kLoopback;
  const std::string where = loopback                               ? "loopback"
                            : placement.rails != RailChoice::kNone ? "rails"
                                                                   : "each: " + placement.each;
  const bool any_kind = placement.is_by_rail() && kernel.endpoint_kind() != "none";
  const bool on_gpu = kernel.endpoint_kind() == "gpu" && placement.each.empty();
  const std::string wanted = loopback                 ? (on_gpu ? "gpu" : "nic")
                             : placement.is_by_rail() ? "rail"
                                                      : placement.each;
  const bool placed = !placement.each.empty() && wanted == placement.each && places_ranks(kernel) &&
                      !placement.is_by_rail();
  if (!wanted.empty() && !any_kind && !placed && kernel.endpoint_kind() != wanted)
    return refuse_stage(fmt::format("stage {}: {} does not fit {}, which runs on {}", index, where,
                                    kernel.name(), kernel.endpoint_kind()));
  if (!placement.chooses_gpu()) return {};
  if (find_parameter(kernel, kGpuParameter, "text") == nullptr)
    return refuse_stage(
        fmt::format("stage {}: each: {} does not fit {}, which uses no GPU's memory", index,
                    placement.each, kernel.name()));
  if (stage.parameters.contains(kGpuParameter))
    return refuse_stage(fmt::format(
        "stage {}: each: {} chooses the GPU; leave out the parameter gpu", index, placement.each));
  return {};
}

// Refuses a parameter that would move the kernel off the port that labels its series.
Status check_devices(const Stage& stage, std::uint32_t index, const KernelInfo& kernel,
                     const Params& params) {
  if (find_parameter(kernel, kDevicesParameter, "text") == nullptr) return {};
  const auto problem = devices_problem(stage.placement, params.text(kDevicesParameter));
  if (problem) return refuse_stage(fmt::format("stage {}: {}", index, *problem));
  return {};
}

// A node with fewer endpoints than others lacks the last rails: its tasks there are waived with a
// reason, not left out.
void fill_rails(std::span<const PlanNode> nodes, const KernelInfo& kernel,
                std::vector<std::vector<Choice>>& choices) {
  std::size_t rails = 0;
  for (const auto& one : choices) rails = std::max(rails, one.size());
  for (std::size_t node = 0; node < choices.size(); ++node)
    for (std::size_t rail = choices[node].size(); rail < rails; ++rail)
      choices[node].push_back({.reason = fmt::format("{} has no {} on rail {}", nodes[node].name,
                                                     kernel.endpoint_kind(), rail)});
}

// Fills choices and GPU counts by node. An absent node keeps its place, and its choices carry the
// reason.
void choose(StagePlan& plan, const PlanContext& context) {
  // A kernel that places its ranks takes the kind of endpoint that the placement names.
  const std::string& each = plan.stage.placement.each;
  const std::string kind =
      places_ranks(plan.kernel) && !each.empty() ? each : plan.kernel.endpoint_kind();
  for (const PlanNode& node : context.nodes) {
    plan.choices.push_back(choose_endpoints(node, kind, plan.stage.placement));
    plan.gpus.push_back(
        static_cast<std::size_t>(std::ranges::count(node.endpoints, "gpu", &NodeEndpoint::kind)));
  }
  if (plan.stage.placement.is_by_rail()) fill_rails(context.nodes, plan.kernel, plan.choices);
  for (std::size_t node = 0; node < plan.choices.size(); ++node)
    if (const std::string& why = context.nodes[node].absent; !why.empty())
      for (Choice& choice : plan.choices[node]) choice.reason = why;
}

// Thousands of tasks have one of these.
void share_parameters(StagePlan& plan) {
  plan.effective = plan.params.effective();
  for (const std::vector<Choice>& of_node : plan.choices)
    for (const Choice& choice : of_node) {
      if (choice.gpu.empty() || plan.with_gpu.contains(choice.gpu)) continue;
      SharedTexts& texts = plan.with_gpu[choice.gpu] = plan.effective;
      texts.set(kGpuParameter, choice.gpu.substr(std::string_view("gpu").size()));
    }
}

// Adds the facts that only the placement knows. Ranks in one place share them.
void note_placement(const StagePlan& plan, const Choice& choice, PlannedTask& task) {
  if (plan.stage.placement.kind == PlacementKind::kLoopback || task.idle_filler)
    task.facts[kLoopbackFact] = "true";
  if (choice.gpu.empty()) return;
  task.parameters = plan.with_gpu.at(choice.gpu);
  task.facts[kDistanceFact] = choice.distance;
}

// Distance of a task on exactly two nodes; kNone for any other task.
DistanceClass distance_of(const PlanContext& context, const PlannedTask& task,
                          const TaskSeats& seats) {
  std::uint32_t other = seats.ranks.front().node;
  for (const Seat& seat : seats.ranks) {
    if (seat.node == seats.ranks.front().node || seat.node == other) continue;
    if (other != seats.ranks.front().node) return DistanceClass::kNone;
    other = seat.node;
  }
  if (task.ranks.size() < 2 || other == seats.ranks.front().node) return DistanceClass::kNone;
  return distance_of(context.own.places[seats.ranks.front().node], context.own.places[other]);
}

// Numbers leaves, pods and kinds of hardware, and sorts the nodes by place.
PlanContext places_of(std::span<const PlanNode> nodes, const Topology& topology) {
  PlanContext context{.nodes = {nodes.begin(), nodes.end()}};
  std::map<std::string, std::uint32_t> leaves;
  std::map<std::string, std::uint32_t> pods;
  std::map<std::string, std::uint32_t> kinds;
  std::vector<std::uint32_t> on_leaf;
  // Numbers in the order of names, so that a plan does not hang on who was named first.
  for (const auto& [name, place] : topology.nodes) {
    if (!place.leaf.empty()) leaves[place.leaf] = 0;
    pods[place.pod] = 0;
  }
  for (std::uint32_t number = 0; auto& [name, leaf] : leaves) leaf = number++;
  for (std::uint32_t number = 0; auto& [name, pod] : pods) pod = number++;
  for (const PlanNode& node : nodes) {
    const auto place = topology.nodes.find(node.name);
    const bool known = place != topology.nodes.end() && !place->second.leaf.empty();
    LeafPlace numbers;
    if (known) numbers.leaf = leaves[place->second.leaf];
    if (known && !place->second.pod.empty()) numbers.pod = pods[place->second.pod];
    context.own.places.push_back(numbers);
    context.leaf_names.push_back(known ? place->second.leaf : "");
    on_leaf.push_back(known ? place->second.order : 0);
    const auto number = static_cast<std::uint32_t>(kinds.size());
    context.own.kinds.push_back(kinds.emplace(node.hardware, number).first->second);
  }
  context.own.order.resize(nodes.size());
  std::iota(context.own.order.begin(), context.own.order.end(), 0U);
  std::ranges::stable_sort(context.own.order, {}, [&](std::uint32_t node) {
    const LeafPlace& place = context.own.places[node];
    return std::tuple(place.pod, place.leaf, on_leaf[node]);
  });
  return context;
}

}  // namespace

// Nodes of the plan replace their namesakes, since they have current endpoints.
std::vector<PlanNode> nodes_of_slices(std::span<const PlanNode> nodes, const PlanOptions& options) {
  std::map<std::string_view, const PlanNode*> planned;
  for (const PlanNode& node : nodes) planned[node.name] = &node;
  std::vector<PlanNode> all;
  for (const PlanNode& node : options.slice_nodes) {
    const auto found = planned.find(node.name);
    all.push_back(found == planned.end() ? node : *found->second);
    if (found != planned.end()) planned.erase(found);
  }
  for (const PlanNode& node : nodes)
    if (planned.contains(node.name)) all.push_back(node);
  return all;
}

// Slices are laid out over PlanOptions::slice_nodes, the tasks over the plan's own nodes; `numbers`
// maps the one to the other.
PlanContext context_of(std::span<const PlanNode> nodes, const PlanOptions& options) {
  PlanContext context = places_of(nodes, options.topology);
  if (options.slice_nodes.empty()) return context;
  PlanContext all = places_of(nodes_of_slices(nodes, options), options.topology);
  std::map<std::string_view, std::uint32_t> numbers;
  for (const PlanNode& node : nodes)
    numbers.emplace(node.name, static_cast<std::uint32_t>(numbers.size()));
  for (const PlanNode& node : all.nodes)
    all.own.numbers.push_back(value_of(numbers, node.name, kNotThere));
  context.sliced = std::move(all.own);
  return context;
}

// Only where both parameters are declared.
bool measures_slices(const Params& params) {
  return value_of(params.effective(), std::string(kSlicesParameter)) == kMeasureSlices;
}

// Parameters first: endpoints and cost depend on them.
Result<StagePlan> prepare_stage(const Stage& stage, std::uint32_t index, const PlanContext& context,
                                std::span<const KernelInfo> kernels, const Site& site,
                                const LearnedTimes& times) {
  const auto kernel = std::ranges::find(kernels, stage.kernel, &KernelInfo::name);
  if (kernel == kernels.end())
    return refuse_stage(fmt::format("stage {}: kernel {} is unknown here; is an agent attached",
                                    index, in_quotes(stage.kernel)));
  std::map<std::string, std::string> given = stage.parameters;
  auto from_site = add_site_defaults(site, *kernel, given);
  if (!from_site)
    return refuse_stage(fmt::format("stage {}: {}", index, from_site.error().message));
  auto params = Params::parse(*kernel, given);
  if (!params) return refuse_stage(fmt::format("stage {}: {}", index, params.error().message));
  StageCost cost(*kernel, *params);
  StagePlan plan{.stage = stage,
                 .index = index,
                 .kernel = *kernel,
                 .params = std::move(*params),
                 .site_defaults = std::move(*from_site),
                 .cost = cost};
  for (const ParameterInfo& parameter : kernel->parameters()) {
    // A parameter at its default is no part of the identity: a later version that adds a parameter
    // would begin all series anew. A GPU that the placement chooses is part of the endpoint, by its
    // slot.
    if (parameter.identity() && !plan.params.is_default(parameter.name()) &&
        !(stage.placement.chooses_gpu() && parameter.name() == kGpuParameter))
      plan.identity.push_back(parameter.name());
    // At its default too: the runner writes the slice that it measured into it.
    else if (parameter.name() == kSliceParameter && measures_slices(plan.params))
      plan.identity.push_back(parameter.name());
  }
  RG_TRY_OK(check_placement(stage, index, *kernel));
  RG_TRY_OK(check_devices(stage, index, *kernel, plan.params));
  choose(plan, context);
  share_parameters(plan);
  plan.time_key = time_key(plan.kernel, plan.params, stage.placement.kind, context.nodes.size());
  plan.learned = times.share_of(plan.time_key);
  return plan;
}

// A task is waived when the choice of any rank has a reason; it keeps its place and id.
PlannedTask make_task(const StagePlan& plan, const PlanContext& context, const TaskSeats& seats) {
  PlannedTask task{.stage = plan.index,
                   .kernel = plan.kernel.name(),
                   .parameters = plan.effective,
                   .identity_parameters = plan.identity,
                   .site_defaults = plan.site_defaults};
  task.reversed = seats.reversed;
  task.idle_filler = seats.idle_filler;
  const bool by_rail = plan.stage.placement.is_by_rail();
  double slowest = 0;
  std::size_t gpus = 0;
  for (const Seat& seat : seats.ranks) {
    const Choice& choice = plan.choices[seat.node][seat.choice];
    task.ranks.push_back({.node = context.nodes[seat.node].name,
                          .endpoint = choice.endpoint,
                          .gpu = choice.gpu,
                          .leaf = context.leaf_names[seat.node],
                          .rail = by_rail ? static_cast<std::int32_t>(seat.choice) : -1});
    note_placement(plan, choice, task);
    const bool is_new = task.ranks.size() == 1 || !(seat == seats.ranks[task.ranks.size() - 2]);
    if (!choice.reason.empty() && is_new)
      task.waived_reason += (task.waived_reason.empty() ? "" : "; ") + choice.reason;
    const double rate = choice.rate_bits_per_second;
    slowest = task.ranks.size() == 1 ? rate : std::min(slowest, rate);
    gpus = std::max(gpus, plan.gpus[seat.node]);
  }
  if (plan.stage.placement.together) {
    // Figures of a GPU beside others are series of their own.
    const auto& choices = plan.choices[seats.ranks.front().node];
    const auto active =
        std::ranges::count_if(choices, [](const Choice& choice) { return choice.reason.empty(); });
    const std::string beside = std::to_string(std::max<std::ptrdiff_t>(1, active) - 1);
    task.parameters.set(std::string(kBesideParameter), beside);
    auto& identity = task.identity_parameters;
    if (active > 1 && std::ranges::find(identity, kBesideParameter) == identity.end())
      identity.emplace_back(kBesideParameter);
  }
  task.distance = distance_of(context, task, seats);
  const bool one_node = std::ranges::all_of(
      seats.ranks, [&](const Seat& seat) { return seat.node == seats.ranks.front().node; });
  task.loads_fabric = !one_node && measures_bandwidth(plan.kernel);
  const TaskCost cost = plan.cost.of(slowest, gpus);
  task.raw_samples = plan.stage.raw_samples;
  task.deadline_seconds =
      plan.stage.deadline_seconds.value_or(kDeadlineFactor * cost.seconds + kDeadlineSlackSeconds);
  if (!task.waived_reason.empty()) return task;
  task.longest_seconds = cost.seconds;
  const TaskCost expected = plan.expected(cost);
  task.expected_seconds = expected.seconds;
  task.expected_bytes = expected.bytes;
  return task;
}

}  // namespace railgauge::plan
