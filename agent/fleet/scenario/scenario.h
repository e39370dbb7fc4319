// A scenario: a modelled fabric and all that happens to it, as plain values. read_scenario() makes
// it from YAML; agent/fleet/model answers for it. Times are nanoseconds since the scenario's begin.
// Pure; thread safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::fleet {

inline constexpr std::uint32_t kScenarioVersion = 1;
inline constexpr std::size_t kMaxScenarioBytes = 1U << 20U;
inline constexpr std::uint32_t kMaxNodes = 10'000;
inline constexpr std::uint32_t kMaxRails = 16;
inline constexpr std::uint32_t kMaxGpus = 16;
inline constexpr std::uint32_t kMaxSpines = 1'024;
// Longest time that a scenario may state: ten years.
inline constexpr double kMaxScenarioDays = 3'660;

using Nanoseconds = std::int64_t;
inline constexpr Nanoseconds kForever = std::numeric_limits<Nanoseconds>::max();
inline constexpr double kNsPerSecond = 1e9;
inline constexpr double kNsPerDay = 86'400e9;
// How long a flapping part is bad or good, unless the scenario says so, and the shortest spell:
// agents look at their links once a second.
inline constexpr Nanoseconds kUsualSpellNs = 600'000'000'000;
inline constexpr Nanoseconds kLeastSpellNs = 10'000'000'000;
// A scenario begins before 2100: nanoseconds since then, or before it, fit a Nanoseconds.
inline constexpr double kMostBeginSeconds = 4'102'444'800;

// A stretch of time, its end left out.
struct Extent {
  Nanoseconds begin_ns = 0;
  Nanoseconds end_ns = kForever;
  [[nodiscard]] bool covers(Nanoseconds time) const { return begin_ns <= time && time < end_ns; }
};

// Some of a scenario's nodes, by number.
struct NodeChoice {
  // By node: 1 when it is chosen. Empty: all are.
  std::vector<char> chosen{};
  [[nodiscard]] bool has(std::uint32_t node) const { return chosen.empty() || chosen[node] != 0; }
};

// Some kernels, by name or family: "nccl.all_reduce", "nccl". Empty: all.
struct KernelChoice {
  std::vector<std::string> names{};
  [[nodiscard]] bool has(std::string_view kernel) const {
    return names.empty() || std::ranges::any_of(names, [kernel](const std::string& name) {
             return kernel == name || (kernel.starts_with(name) && kernel[name.size()] == '.');
           });
  }
};

// Sizes of the fabric. Node n has leaf n * leaves / nodes, so that leaves differ by one node at
// most; pods take leaves likewise. NIC i of every node is on rail i.
struct Fabric {
  std::uint32_t nodes = 64;
  std::uint32_t rails = 8;
  std::uint32_t leaves = 4;
  std::uint32_t spines = 4;
  std::uint32_t pods = 1;
  // Names are the prefix and a number from 1, with leading zeros: "sim0001".
  std::string prefix = "sim";
};

// The parts that an upgrade changes on a node; an absent member keeps the value before.
struct StackParts {
  // By the key of the table `versions`: "gpu_driver".
  std::map<std::string, std::string> versions{};
  // By the key of the table `settings`: "mtu_bytes"; numbers and words as text.
  std::map<std::string, std::string> settings{};
};

enum class LinkLayer { kInfiniband, kEthernet };

// Nodes of equal hardware and their figures in a healthy fabric.
struct HardwareClass {
  std::string name = "h100";
  std::uint32_t gpus = 8;
  std::uint32_t nics = 8;
  std::uint32_t sockets = 2;
  // Line rate of a NIC, in bytes per second.
  double nic_rate = 400e9 / 8;
  LinkLayer link_layer = LinkLayer::kInfiniband;
  std::string cpu_model = "Modelled CPU";
  std::string gpu_model = "Modelled GPU";
  std::string nic_model = "MT4129";
  // One-way latency of a small RDMA message inside a leaf.
  double latency_ns = 1'800;
  // Share of the line rate that a large message reaches.
  double reaches = 0.97;
  // Between two GPUs of a node, and between a GPU and its host, in bytes per second.
  double gpu_rate = 370e9;
  double pcie_rate = 55e9;
  StackParts stack{};
};

// Where a random number is drawn once: figures that share it move together.
enum class Among { kSeries, kNode, kLeaf, kFabric };

enum class NoiseKind { kGaussian, kSkew, kCorrelated, kModes, kSpikes, kDrift, kQuantised };

// A reason why a healthy figure varies from run to run. `size` is a share of the figure.
struct Noise {
  NoiseKind kind = NoiseKind::kGaussian;
  double size = 0;
  // Time over which correlated noise, modes and a drift move; 0 where the kind has none.
  Nanoseconds span_ns = 0;
  // Chance of the slow mode, or of a spike.
  double share = 0;
  Among among = Among::kSeries;
  NodeChoice nodes{};
  KernelChoice kernels{};
};

// The hours of the day, UTC, in which the fabric is in use.
struct Day {
  Nanoseconds from_ns = 0;
  Nanoseconds to_ns = 0;
  // Share of bandwidth that is gone by day; latency grows alike.
  double takes = 0;
  // Factor of all noise by day, but for a drift and for the steps of a quantised figure.
  double noise = 1;
};

enum class Part { kPort, kNode, kGpu, kRail, kLeaf, kTrunk, kUplink, kSpine, kPair };
enum class Direction { kBoth, kSends, kReceives };

// The effect of a part or a stack on a figure.
struct Harm {
  // Share of bandwidth that is gone; 1: the link is down, and tasks that cross it fail.
  double takes = 0;
  // Added to every message's latency.
  double adds_ns = 0;
  // Share of packets that are lost.
  double loss = 0;
  // Pauses of this length, one in every `stall_every_ns`.
  double stall_ns = 0;
  double stall_every_ns = 0;
};

// A fault of one part of the fabric. Members that the kind does not use are -1.
struct Fault {
  std::string name{};
  Part part = Part::kPort;
  std::int32_t node = -1;
  std::int32_t to_node = -1;
  std::int32_t nic = -1;
  std::int32_t gpu = -1;
  // -1: all rails.
  std::int32_t rail = -1;
  std::int32_t leaf = -1;
  std::int32_t to_leaf = -1;
  std::int32_t spine = -1;
  Direction direction = Direction::kBoth;
  Extent when{};
  Harm harm{};
  // Share of the spells of `spell_ns` in which the fault is there; below 1: it flaps.
  double hits = 1;
  Nanoseconds spell_ns = kUsualSpellNs;
};

enum class MemoryChoice { kAny, kHost, kGpu };

// A stack change on some nodes, with its effect on their figures, if any.
struct StackChange {
  std::string name{};
  NodeChoice nodes{};
  Extent when{};
  StackParts parts{};
  Harm effect{};
  KernelChoice kernels{};
  MemoryChoice memory = MemoryChoice::kAny;
  // Time for which the agent is away at the begin.
  Nanoseconds reboot_ns = 0;
};

// A function that some nodes lack.
struct LostFunction {
  NodeChoice nodes{};
  Extent when{};
  KernelChoice kernels{};
  MemoryChoice memory = MemoryChoice::kAny;
  std::string outcome = "waived";
  std::string reason{};
};

enum class AgentKind { kLost, kLate, kRebooting, kWedged, kLying, kSkewed };

// Agents that are not as they should be.
struct AgentFault {
  AgentKind kind = AgentKind::kLost;
  NodeChoice nodes{};
  Extent when{};
  // kLate: delay of every answer. kSkewed: how far the clock is ahead. kRebooting: how long it is
  // away, once in `every_ns`.
  Nanoseconds by_ns = 0;
  Nanoseconds every_ns = 0;
  // kLying: factor by which its figures are better than the truth.
  double factor = 1;
};

// Work that comes and goes.
struct Job {
  std::string name = "job";
  NodeChoice nodes{};
  Extent when{};
  // It runs for `length_ns`, once in `every_ns`; 0: all the time.
  Nanoseconds every_ns = 0;
  Nanoseconds length_ns = 0;
  // Share of the nodes that each occurrence takes.
  double share = 1;
};

struct Scenario {
  std::string name{};
  std::string summary{};
  std::string file{};
  std::uint64_t seed = 1;
  // Time 0 of all times below, in seconds since 1970.
  double begin_unix_seconds = 1'767'571'200;
  Fabric fabric{};
  std::vector<HardwareClass> classes{HardwareClass{}};
  // By node: its index in `classes`.
  std::vector<std::uint8_t> class_of{};
  std::vector<Noise> noise{};
  std::optional<Day> day{};
  std::vector<Fault> faults{};
  // By their begins; those of the same time in the file's order.
  std::vector<StackChange> changes{};
  std::vector<LostFunction> losses{};
  std::vector<AgentFault> agents{};
  std::vector<Job> jobs{};

  [[nodiscard]] const HardwareClass& hardware(std::uint32_t node) const {
    return classes[class_of[node]];
  }
  [[nodiscard]] std::uint32_t leaf_of(std::uint32_t node) const {
    return static_cast<std::uint32_t>(std::uint64_t{node} * fabric.leaves / fabric.nodes);
  }
  [[nodiscard]] std::uint32_t pod_of(std::uint32_t leaf) const {
    return static_cast<std::uint32_t>(std::uint64_t{leaf} * fabric.pods / fabric.leaves);
  }
};

// The name of node `node`, from 0. CHECKs that it is one of the fabric's.
std::string node_name(const Fabric& fabric, std::uint32_t node);
// The number of the node with this name; absent for none.
std::optional<std::uint32_t> node_of_name(const Fabric& fabric, std::string_view name);
// "L3", as `railgauge topo` and matrices show a leaf without a name of its own.
std::string leaf_name(std::uint32_t leaf);

// Reads a scenario. kInvalidArgument: the first problem in one line with file, line, key and the
// allowed values, and the number of further ones. Never throws.
Result<Scenario> read_scenario(std::string_view text, std::string_view file_name);
// Reads a scenario from a file. An unreadable file is kInvalidArgument too.
Result<Scenario> read_scenario_file(const std::string& path);

}  // namespace railgauge::fleet
