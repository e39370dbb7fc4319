// The choice of the NUMA node and the binding to it.
#include "kernels/gpu/session/placement.h"

#include <algorithm>

#include <fmt/format.h>

namespace railgauge::gpu {
namespace {

constexpr double kGib = 1U << 30U;
// Free memory that the node must have. Sizes end at 1 GiB: source or target, a pattern to compare
// with, the buffer that was read back, and reserve.
constexpr std::uint64_t kNodeHeadroomBytes = 4ULL << 30U;
// Free memory beside a known request.
constexpr std::uint64_t kReserveBytes = 1ULL << 30U;

// Waives where the node lacks the memory. For memory bound to a full node Linux ends some process,
// perhaps another one.
Status check_room(const std::string& who, int node, std::uint64_t bytes, const std::string& sysfs) {
  const auto available = available_on_node(node, sysfs);
  if (!available || *available >= bytes) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("{}: have host memory on NUMA node {}: {:.1f} GiB are available there, "
                          "{:.3g} GiB may be needed; free some, or measure with numa=any",
                          who, node, static_cast<double>(*available) / kGib,
                          static_cast<double>(bytes) / kGib));
}

// Binds near to `node`, the GPU's, or far from it. `who` appears in messages.
Result<Placement> bind_beside(const std::string& who, int node, const std::string& side,
                              const std::vector<NumaNode>& nodes, std::uint64_t bytes,
                              const std::string& sysfs) {
  const NumaNode& chosen =
      nodes[RG_TRY(side == "far" ? farthest_node(nodes, node) : nearest_node(nodes, node))];
  RG_TRY_OK(check_room(who, chosen.id, bytes, sysfs));
  NumaBinding binding = RG_TRY(NumaBinding::bind(chosen));
  HostPlace host{.node = chosen.id, .side = side, .policy_set = binding.memory_bound()};
  return Placement{std::move(binding), std::move(host)};
}

// Whether each GPU has a far node.
bool each_has_far(std::span<const Gpu> gpus, const std::vector<NumaNode>& nodes,
                  const std::string& sysfs) {
  return std::ranges::all_of(gpus, [&](const Gpu& gpu) {
    const int node = gpu.numa_node(sysfs);
    return node >= 0 && farthest_node(nodes, node).has_value();
  });
}

// The node that all GPUs share, or -1.
int common_node(std::span<const Gpu> gpus, const std::string& sysfs) {
  const int first = gpus.front().numa_node(sysfs);
  const bool same =
      std::ranges::all_of(gpus, [&](const Gpu& gpu) { return gpu.numa_node(sysfs) == first; });
  return same ? first : -1;
}

}  // namespace

// `any` binds nothing. A machine of one node needs no binding, and has no far side.
Result<Placement> place(Context& context, std::span<const Gpu> gpus, const std::string& sysfs,
                        Apart apart) {
  const std::string& side = context.params.text("numa");
  if (side == "any") {
    context.reporter.fact("numa", "any");
    return Placement();
  }
  const std::vector<NumaNode> nodes = RG_TRY(numa_nodes(sysfs));
  const bool far = side == "far";
  const std::string& who = gpus.front().name();
  if (nodes.size() == 1) {
    if (far)
      return fail(Code::kFailedPrecondition,
                  who + ": measure from the far NUMA node: this machine has one node");
    context.reporter.fact("numa", "single node");
    return Placement();
  }
  const int node = common_node(gpus, sysfs);
  if (node < 0) {
    const std::string why = gpus.size() > 1 ? "its GPUs are not all on one node, or it does not say"
                                            : "it does not say on which node " + who + " is";
    if (far && apart == Apart::kEach && each_has_far(gpus, nodes, sysfs)) {
      context.reporter.fact("numa",
                            "each GPU's host memory on its own far node; the thread is free");
      return Placement();
    }
    if (far)
      return fail(Code::kFailedPrecondition,
                  fmt::format("{}: measure from the far NUMA node: the machine has {} nodes and {}",
                              who, nodes.size(), why));
    context.reporter.fact("numa", fmt::format("not bound: {} nodes, {}", nodes.size(), why));
    return Placement();
  }
  Placement bound = RG_TRY(bind_beside(who, node, side, nodes, kNodeHeadroomBytes, sysfs));
  context.reporter.fact(
      "numa", fmt::format("node {}, {}{}", bound.host.node, side,
                          bound.host.policy_set ? "" : "; the memory policy may not be set"));
  return bound;
}

// A GPU whose node is unknown is not bound: place() has already reported it.
Result<Placement> place_beside(const Context& context, const Gpu& gpu, std::uint64_t bytes,
                               const std::string& sysfs) {
  const std::string& side = context.params.text("numa");
  const int node = gpu.numa_node(sysfs);
  if (side == "any" || node < 0) return Placement();
  const std::vector<NumaNode> nodes = RG_TRY(numa_nodes(sysfs));
  if (nodes.size() == 1) return Placement();
  return bind_beside(gpu.name(), node, side, nodes, bytes + kReserveBytes, sysfs);
}

}  // namespace railgauge::gpu
