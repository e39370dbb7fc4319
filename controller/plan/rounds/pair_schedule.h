// Every pair of nodes once in N - 1 rounds (N when N is odd), near pairs first: a nested
// 1-factorisation. Rounds are made one at a time, so that ten thousand nodes cost no memory. Pure.
//
// With equal groups (leaves, or pods of leaves) of even size g the rounds are first the groups'
// own, all groups side by side, then those between groups: each round holds pairs of one distance.
// For these the groups are halved, and the 2G halves meet as in a round robin whose turn of "both
// halves of one group" is left out, each meeting of halves being g/2 shifts. With equal groups of
// odd size, an even number of them, g rounds are mixed, which is the least: an odd group always has
// one node over. Anything else is cut into two halves along groups where that works out: mixed
// rounds stay few, a leaf's size for each cut, but a plan with the fewest may have fewer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "controller/plan/topology/topology.h"

namespace railgauge::plan {

// Positions among the nodes, first lower.
using NodePair = std::pair<std::uint32_t, std::uint32_t>;

// Where a node hangs, as numbers.
struct LeafPlace {
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  // A leaf's number means one leaf in the whole fabric.
  std::uint32_t leaf = kUnknown;
  // Pod number; kUnknown in a fabric without pods.
  std::uint32_t pod = kUnknown;
  bool operator==(const LeafPlace&) const = default;
};

// Distance of two different nodes.
constexpr DistanceClass distance_of(const LeafPlace& a, const LeafPlace& b) {
  if (a.leaf == LeafPlace::kUnknown || b.leaf == LeafPlace::kUnknown)
    return DistanceClass::kUnknown;
  if (a.leaf == b.leaf) return DistanceClass::kLeaf;
  return a.pod == b.pod && a.pod != LeafPlace::kUnknown ? DistanceClass::kPod
                                                        : DistanceClass::kFabric;
}

// A 1-factorisation of the complete graph on size() positions, an even number.
// Immutable; thread safe.
class Factorisation {
 public:
  virtual ~Factorisation() = default;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  // Appends the pairs of a round, from 0 to size() - 2, each position once; first is not always
  // lower.
  virtual void append(std::uint32_t round, std::vector<NodePair>& out) const = 0;
};

// Immutable; thread safe.
class PairSchedule {
 public:
  // One place for each node; none, or all the same: no topology.
  explicit PairSchedule(std::span<const LeafPlace> places);

  [[nodiscard]] std::size_t rounds() const { return rounds_; }
  // The pairs of a round, from 0; replaces what `out` held. In no particular order. With an odd
  // number of nodes one is missing, another one each round.
  void pairs(std::size_t round, std::vector<NodePair>& out) const;

 private:
  std::uint32_t nodes_;
  std::size_t rounds_ = 0;
  // Position -> node; from nodes_ on: nobody.
  std::vector<std::uint32_t> arrangement_;
  std::unique_ptr<Factorisation> factors_;
};

}  // namespace railgauge::plan
