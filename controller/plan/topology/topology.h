// Places of nodes in the fabric, as far as a source reports them: the leaf switch of each node, and
// the pod of each leaf. Plain values; topology_*.cc read them from the sources.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace railgauge::plan {

// Distance between two nodes, from near to far.
enum class DistanceClass : std::uint8_t {
  // Not a pair of nodes.
  kNone,
  // A pair, but the topology lacks one of its nodes.
  kUnknown,
  // Both nodes are on one leaf.
  kLeaf,
  // The nodes are on two leaves of one pod.
  kPod,
  // The nodes are on two leaves of two pods, or of a fabric without pods.
  kFabric,
};

// Returns "", "unknown", "within_leaf", "within_pod" or "across_fabric".
constexpr std::string_view name_of(DistanceClass distance) {
  constexpr std::array<std::string_view, 5> kNames{"", "unknown", "within_leaf", "within_pod",
                                                   "across_fabric"};
  return kNames.at(static_cast<std::size_t>(distance));
}

// Place of one node.
struct NodePlace {
  std::string leaf{};
  // "": the fabric has no pods, or no source reports them.
  std::string pod{};
  // Position on the leaf, when the source reports one.
  std::uint32_t order = 0;
  bool operator==(const NodePlace&) const = default;
};

// Places of all known nodes. Missing nodes and leaves are unknown, never guessed.
struct Topology {
  // "labels", "slurm", "ibnetdiscover", ...; "": none.
  std::string source{};
  // By node name; a missing node has no known leaf.
  std::map<std::string, NodePlace> nodes{};
  // Number of a leaf's links to other switches, when the source reports it. The bound of cross-leaf
  // load is a share of these links.
  std::map<std::string, std::uint32_t> uplinks{};
};

}  // namespace railgauge::plan
