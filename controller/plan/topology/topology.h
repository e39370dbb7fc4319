// The place of nodes in the fabric, as far as a source reports it: the leaf switch of each node,
// and the pod of each leaf. Plain values; topology_*.h read them from the sources.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace railgauge::plan {

// How far two nodes are from each other, near to far.
enum class DistanceClass : std::uint8_t {
  kNone,     // not a pair of nodes
  kUnknown,  // a pair, but the topology lacks one of its nodes
  kLeaf,     // on one leaf
  kPod,      // on two leaves of one pod
  kFabric,   // on two leaves, of two pods where there are any
};

// "", "unknown", "within_leaf", "within_pod", "across_fabric".
constexpr std::string_view name_of(DistanceClass distance) {
  constexpr std::array<std::string_view, 5> kNames{"", "unknown", "within_leaf", "within_pod",
                                                   "across_fabric"};
  return kNames.at(static_cast<std::size_t>(distance));
}

struct NodePlace {
  std::string leaf{};
  std::string pod{};        // "": the fabric has no pods, or no source reports them
  std::uint32_t order = 0;  // place on the leaf, where the source knows one
  bool operator==(const NodePlace&) const = default;
};

struct Topology {
  std::string source{};                      // "labels", "slurm", "ibnetdiscover", ...; "": none
  std::map<std::string, NodePlace> nodes{};  // by node name; a node that is missing has no leaf
  // Number of links of a leaf to other switches, where the source reports it. Cross-leaf load is a
  // share of them.
  std::map<std::string, std::uint32_t> uplinks{};
};

// kUnknown when either has no place, kNone when both are the same node.
DistanceClass distance_between(const Topology& topology, const std::string& a,
                               const std::string& b);

}  // namespace railgauge::plan
