// Schedules every pair of nodes once in N - 1 rounds (N when N is odd), near pairs first: a nested
// 1-factorisation. Makes one round at a time, so that ten thousand nodes need no memory for it.
// Pure.
//
// G equal groups (leaves, or pods of leaves) of even size g: rounds within the groups come first,
// all groups side by side, then rounds between groups, so each round holds pairs of one distance.
// For rounds between groups, each group is halved. The 2G halves meet as in a round robin without
// the turn "both halves of one group"; each meeting of two halves takes g/2 shifts.
// An even number of equal groups of odd size g: g rounds are mixed. This is the minimum, since an
// odd group always has one node over.
// All other fabrics are cut into two halves along groups where possible. Mixed rounds stay few (a
// leaf's size for each cut), but their number is not always minimal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "controller/plan/topology/topology.h"

namespace railgauge::plan {

// Two positions among the nodes; the first is the lower one.
using NodePair = std::pair<std::uint32_t, std::uint32_t>;

// Place of a node in the topology, as numbers.
struct LeafPlace {
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  // Leaf number, unique in the whole fabric.
  std::uint32_t leaf = kUnknown;
  // Pod number; kUnknown in a fabric without pods.
  std::uint32_t pod = kUnknown;
  bool operator==(const LeafPlace&) const = default;
};

// Returns the distance between two different nodes.
constexpr DistanceClass distance_of(const LeafPlace& a, const LeafPlace& b) {
  if (a.leaf == LeafPlace::kUnknown || b.leaf == LeafPlace::kUnknown)
    return DistanceClass::kUnknown;
  if (a.leaf == b.leaf) return DistanceClass::kLeaf;
  return a.pod == b.pod && a.pod != LeafPlace::kUnknown ? DistanceClass::kPod
                                                        : DistanceClass::kFabric;
}

// A 1-factorisation of the complete graph on size() positions; size() is even. Immutable; thread
// safe.
class Factorisation {
 public:
  virtual ~Factorisation() = default;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  // Appends the pairs of a round (0 to size() - 2) with each position once. A pair's first position
  // is not always the lower one.
  virtual void append(std::uint32_t round, std::vector<NodePair>& out) const = 0;
};

// The schedule of all pairs of some nodes. Immutable; thread safe.
class PairSchedule {
 public:
  // `places` has one element for each node. Equal places mean that no topology is known.
  explicit PairSchedule(std::span<const LeafPlace> places);

  [[nodiscard]] std::size_t rounds() const { return rounds_; }
  // Replaces the content of `out` by the pairs of a round, in no order; rounds count from 0. With
  // an odd number of nodes, each round leaves out another node.
  void pairs(std::size_t round, std::vector<NodePair>& out) const;

 private:
  std::uint32_t nodes_;
  std::size_t rounds_ = 0;
  // Node by position; values from nodes_ on are no node.
  std::vector<std::uint32_t> arrangement_;
  std::unique_ptr<Factorisation> factors_;
};

}  // namespace railgauge::plan
