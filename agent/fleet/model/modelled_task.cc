#include "agent/fleet/model/modelled_task.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "agent/fleet/model/node_state.h"
#include "agent/fleet/model/noise.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/params.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::fleet {
namespace {

double number_or(const ModelledTask& task, const char* name, double otherwise) {
  const auto number = parse_number(value_of(task.parameters, name));
  return number && *number > 0 ? *number : otherwise;
}

double duration_or(const ModelledTask& task, const char* name, double otherwise) {
  const auto ns = parse_duration_ns(value_of(task.parameters, name));
  return ns && *ns > 0 ? *ns : otherwise;
}

bool is_value(const ModelledTask& task, const char* name, std::string_view value) {
  return value_of(task.parameters, name) == value;
}

bool is_gpu_kernel(std::string_view kernel) {
  return kernel.starts_with("nccl.") || kernel.starts_with("cuda.") || kernel.starts_with("bar.");
}

// Whether a rank's data is in GPU memory. The other rank's is where rank 0's is, unless it says so.
bool uses_gpu(const ModelledTask& task, std::size_t rank) {
  if (is_gpu_kernel(task.kernel)) return true;
  if (task.kernel == "verbs.write_visible_lat") return rank == 1;
  const std::string first = value_of(task.parameters, "memory", "host");
  if (rank == 0) return first == "cuda";
  // A controller sends defaults too, and that of the other rank's memory is "same".
  std::string other = value_of(task.parameters, "target_memory", "same");
  other = value_of(task.parameters, "peer_memory", other);
  return (other == "same" ? first : other) == "cuda";
}

TaskOptions options_of(const ModelledTask& task, const KernelShape& shape) {
  TaskOptions options;
  for (std::size_t rank = 0; rank < std::min<std::size_t>(task.ranks.size(), 2); ++rank)
    options.gpu_memory = options.gpu_memory || uses_gpu(task, rank);
  options.both = is_value(task, "direction", "both");
  options.under_load = is_value(task, "bidirectional", "true");
  options.root = static_cast<std::uint32_t>(number_or(task, "root", 0));
  if (!shape.sizes.empty()) {
    const auto given = parse_bytes_list(value_of(task.parameters, "sizes"));
    const auto usual = parse_bytes_list(shape.sizes);
    options.sizes = given && !given->empty() ? *given : *usual;
  } else {
    options.sizes = {0};
  }
  options.iterations = number_or(task, "iterations", 0);
  options.min_samples = number_or(task, "min_samples", 0);
  options.time_cap_ns = duration_or(task, "time_cap", options.time_cap_ns);
  options.measure_ns = duration_or(task, "duration", duration_or(task, "least_time", 0));
  return options;
}

tl::unexpected<Error> lacks(const Scenario& scenario, std::uint32_t node, const std::string& what) {
  return fail(Code::kNotFound, "{} has no {} in the scenario", node_name(scenario.fabric, node),
              what);
}

// The place of one rank: its NIC, and its GPU where the data is in GPU memory.
Result<Place> place_of(const Scenario& scenario, const ModelledTask& task, std::size_t rank) {
  const Endpoint& end = task.ranks[rank];
  RG_CHECK(end.node < scenario.fabric.nodes);
  const HardwareClass& hardware = scenario.hardware(end.node);
  const auto nics = static_cast<std::int32_t>(hardware.nics);
  const auto gpus = static_cast<std::int32_t>(hardware.gpus);
  Place place{.node = end.node};
  if (uses_gpu(task, rank)) {
    if (gpus == 0) return lacks(scenario, end.node, "GPU");
    place.gpu = end.gpu >= 0 ? end.gpu : std::max(0, end.nic) * gpus / nics;
    if (place.gpu >= gpus)
      return lacks(scenario, end.node, gpu_name(static_cast<std::uint32_t>(place.gpu)));
  }
  place.nic = end.nic >= 0 ? end.nic : place.gpu >= 0 ? place.gpu * nics / gpus : 0;
  if (place.nic >= nics)
    return lacks(scenario, end.node, nic_name(static_cast<std::uint32_t>(place.nic)));
  return place;
}

// A task on all GPUs of its node has a place on each.
void add_all_gpus(const Scenario& scenario, std::vector<Place>& places) {
  const Place first = places.front();
  const HardwareClass& hardware = scenario.hardware(first.node);
  places.clear();
  for (std::uint32_t gpu = 0; gpu < hardware.gpus; ++gpu)
    places.push_back({.node = first.node,
                      .nic = static_cast<std::int32_t>(gpu * hardware.nics / hardware.gpus),
                      .gpu = static_cast<std::int32_t>(gpu)});
}

Route route_of(const KernelShape& shape, const TaskOptions& options) {
  const bool is_pair = shape.route == Route::kForth || shape.route == Route::kBack;
  return is_pair && options.both ? Route::kRound : shape.route;
}

DrawKey series_of(const Scenario& scenario, const ModelledTask& task, const TaskOptions& options,
                  std::span<const Place> places) {
  DrawKey key = DrawKey(scenario.seed)
                    .with("series")
                    .with(task.kernel)
                    .with(std::uint64_t{options.both} * 2 + std::uint64_t{options.under_load});
  for (const Place& place : places)
    key = key.with(std::uint64_t{place.node})
              .with(std::int64_t{place.nic})
              .with(std::int64_t{place.gpu});
  return key;
}

// How much of the task a fault hits: 0 to 1. One half of a way there and back may be healthy.
double hit_share(const Scenario& scenario, const Fault& fault, const PreparedTask& task) {
  if (task.shape->route == Route::kAllToAll)
    return crosses_all(scenario, fault, task.places) ? 1 : 0;
  const auto hit = std::ranges::count_if(
      task.flows, [&](const Flow& flow) { return crosses(scenario, fault, flow); });
  if (hit == 0) return 0;
  return task.there_and_back ? static_cast<double>(hit) / static_cast<double>(task.flows.size())
                             : 1;
}

// The bandwidth that is left of a task of which a fault hits a share: times of the two ways add up,
// and so do rates of two directions at once.
double left_of(const PreparedTask& task, double takes, double share) {
  if (task.shape->metrics == Metrics::kLatency && takes < 1)
    return 1 / (share / (1 - takes) + (1 - share));
  return share * (1 - takes) + (1 - share);
}

std::string part_words(const Scenario& scenario, const Fault& fault) {
  std::string words;
  for (const auto& [name, node] : {std::pair{"node", fault.node}, std::pair{"to", fault.to_node}})
    if (node >= 0)
      words +=
          fmt::format(" {} {}", name, node_name(scenario.fabric, static_cast<std::uint32_t>(node)));
  for (const auto& [name, number] :
       {std::pair{"NIC", fault.nic}, std::pair{"GPU", fault.gpu}, std::pair{"rail", fault.rail},
        std::pair{"leaf", fault.leaf}, std::pair{"to leaf", fault.to_leaf},
        std::pair{"spine", fault.spine}})
    if (number >= 0) words += fmt::format(" {} {}", name, number);
  return words;
}

// Several stalls in one task count as the one that takes the most time.
void add_harm(const Harm& harm, double share, TaskHarm& all) {
  all.adds_ns += harm.adds_ns * share;
  all.loss = std::max(all.loss, harm.loss);
  all.is_lossy = all.is_lossy || harm.loss > 0;
  const auto time_lost = [](double length, double every) { return every > 0 ? length / every : 0; };
  if (time_lost(harm.stall_ns, harm.stall_every_ns) > time_lost(all.stall_ns, all.stall_every_ns)) {
    all.stall_ns = harm.stall_ns;
    all.stall_every_ns = harm.stall_every_ns;
  }
}

bool is_memory(MemoryChoice choice, bool gpu) {
  return choice == MemoryChoice::kAny || (choice == MemoryChoice::kGpu) == gpu;
}

bool on_any_node(const NodeChoice& nodes, const PreparedTask& task) {
  return std::ranges::any_of(task.places,
                             [&](const Place& place) { return nodes.has(place.node); });
}

}  // namespace

Result<PreparedTask> prepare(const Scenario& scenario, const ModelledTask& task) {
  PreparedTask out;
  out.shape = find_shape(task.kernel);
  if (out.shape == nullptr)
    return fail(Code::kUnimplemented, "the modelled fabric has no figures of {}",
                in_quotes(task.kernel));
  const Route declared = out.shape->route;
  const bool is_pair =
      declared == Route::kForth || declared == Route::kBack || declared == Route::kRound;
  if (task.ranks.empty() || (is_pair && task.ranks.size() != 2))
    return invalid("{} needs {}, has {} ranks", task.kernel, is_pair ? "two ranks" : "a rank",
                   task.ranks.size());
  out.options = options_of(task, *out.shape);
  for (std::size_t rank = 0; rank < task.ranks.size(); ++rank)
    out.places.push_back(RG_TRY(place_of(scenario, task, rank)));
  if (declared == Route::kWithGpus) add_all_gpus(scenario, out.places);
  out.series = series_of(scenario, task, out.options, out.places);
  const Route route = route_of(*out.shape, out.options);
  out.there_and_back = route == Route::kRound;
  out.flows = flows_of(scenario, route, out.places, out.options.root,
                       out.series.with("path").with(task.time_ns).bits());
  return out;
}

TaskHarm harm_to(const Scenario& scenario, const ModelledTask& task, const PreparedTask& prepared) {
  TaskHarm all;
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    const Fault& fault = scenario.faults[i];
    if (!is_there(scenario, i, task.time_ns)) continue;
    const double share = hit_share(scenario, fault, prepared);
    if (share == 0) continue;
    // The slowest part decides.
    all.left = std::min(all.left, left_of(prepared, fault.harm.takes, share));
    add_harm(fault.harm, share, all);
    if (fault.harm.takes >= 1)
      all.down = "a link of the modelled fabric is down:" + part_words(scenario, fault);
  }
  for (const StackChange& change : scenario.changes) {
    if (!change.when.covers(task.time_ns) || !change.kernels.has(task.kernel) ||
        !is_memory(change.memory, prepared.options.gpu_memory) ||
        !on_any_node(change.nodes, prepared))
      continue;
    all.left *= 1 - change.effect.takes;
    add_harm(change.effect, 1, all);
    if (change.effect.takes >= 1) all.down = "a change of the stack leaves no bandwidth";
  }
  if (is_of_fabric(*prepared.shape) && is_day(scenario, task.time_ns))
    all.left *= 1 - scenario.day->takes;
  return all;
}

const LostFunction* lost_function(const Scenario& scenario, const ModelledTask& task,
                                  const PreparedTask& prepared) {
  for (const LostFunction& lost : scenario.losses)
    if (lost.when.covers(task.time_ns) && lost.kernels.has(task.kernel) &&
        is_memory(lost.memory, prepared.options.gpu_memory) && on_any_node(lost.nodes, prepared))
      return &lost;
  return nullptr;
}

std::string nic_name(std::uint32_t nic) { return fmt::format("mlx5_{}", nic); }
std::string gpu_name(std::uint32_t gpu) { return fmt::format("gpu{}", gpu); }

Result<Endpoint> parse_endpoint(std::uint32_t node, std::string_view text) {
  Endpoint end{.node = node};
  const auto number_behind = [](std::string_view word, std::string_view prefix, std::int32_t& to) {
    if (!word.starts_with(prefix)) return false;
    const char* const last = word.data() + word.size();
    const auto parsed = std::from_chars(word.data() + prefix.size(), last, to);
    return parsed.ec == std::errc() && parsed.ptr == last && to >= 0;
  };
  if (text.empty()) return end;
  const std::size_t plus = text.find('+');
  std::string_view device = text.substr(0, plus);
  const bool has_gpu =
      plus == std::string_view::npos || number_behind(text.substr(plus + 1), "gpu", end.gpu);
  if (plus == std::string_view::npos && number_behind(device, "gpu", end.gpu)) return end;
  if (device.ends_with(":1")) device.remove_suffix(2);
  if (has_gpu && number_behind(device, "mlx5_", end.nic)) return end;
  return invalid("{} is no endpoint of a modelled node, as in mlx5_0:1, mlx5_0:1+gpu0 or gpu0",
                 in_quotes(text));
}

}  // namespace railgauge::fleet
