// The kernels that the modelled fabric answers for: which ways a task's data takes, which metrics
// it reports, and the figures of a healthy node. Pure; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::fleet {

// The ways that data takes between a task's ranks.
enum class Route {
  kForth,      // rank 0 to rank 1
  kBack,       // rank 1 to rank 0
  kRound,      // there and back
  kRing,       // each rank to the same place of the next node
  kChain,      // each rank to the next one
  kPairs,      // ranks 0 and 1, 2 and 3, both ways
  kHalves,     // each rank of the first half to its partner in the second
  kFromRoot,   // the root to each
  kToRoot,     // each to the root
  kAllToAll,   // each to each
  kWithinGpu,  // inside one GPU
  kWithHost,   // between a GPU and its host
  kWithGpus,   // between the GPUs of a node
};

// The metrics of a kernel, in the order of its points. Times are in nanoseconds, rates in bytes or
// messages a second.
enum class Metrics {
  kLatency,
  kRate,
  // Bandwidth first, then messages.
  kRateAndMessages,
  kMessages,
  // Latency, algorithm and bus bandwidth.
  kCollective,
  // Pin, map, unmap and unpin of a GPU's memory on the BAR.
  kMapCosts,
  // Latency of both ways, and the size from which the other way is faster.
  kCrossover,
  kCheck,
  // A communicator's start, first call, split and end.
  kStartUp,
};

// How a figure follows from a node's hardware.
struct KernelShape {
  // As `railgauge-runner --list` has it; a unit test compares both lists, with metrics and sizes.
  std::string_view name;
  Route route;
  Metrics metrics;
  // The word that a point of the kernel has for its figure, such as half_rtt or unidirectional. A
  // series of another meaning is another series.
  std::string_view meaning;
  // Whose rate bounds the data.
  enum class Pace : std::uint8_t { kNic, kGpu, kPcie, kCpu } pace;
  // Time of an empty operation: a multiple of the class's latency, and a constant.
  double latencies;
  double base_ns;
  // Share of the pace that large messages reach.
  double share;
  // Sizes of a task without the parameter `sizes`; "": the kernel has no sizes.
  std::string_view sizes;
  // Bus bandwidth over algorithm bandwidth of a collective for n ranks is `bus * (n - 1) / n`, and
  // 1 where `bus` is 0.
  double bus = 0;
};

// All words that choose kernels: families and names, "nccl" and "nccl.all_reduce".
std::vector<std::string> kernel_words();
// All shapes, by name.
std::span<const KernelShape> kernel_shapes();
// The shape of a kernel; nullptr where the model has none.
const KernelShape* find_shape(std::string_view kernel);

// The names of the shape's metrics, in the order of the points.
std::span<const std::string_view> metric_names(Metrics metrics);

// Whether the kernel's data crosses NICs where its ranks are on several nodes or ports.
bool is_of_fabric(const KernelShape& shape);

}  // namespace railgauge::fleet
