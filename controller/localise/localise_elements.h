// The elements of a fabric: the pairs of nodes that use each element, the sums of their figures,
// and the fit of a slow element to these figures. Pure; thread safe.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/localise/localise_cells.h"

namespace railgauge::localise {

// The layers of an element, as indices into Cells::layers().
struct LayerSet {
  // -1: all rails.
  std::int32_t rail = -1;
  // "": every kind.
  std::string memory{};
  std::vector<std::size_t> layers{};
};

// Returns, for each rail, the set of all its layers and, with several kinds of memory, a set for
// each kind; with several rails, also the same sets over all rails.
std::vector<LayerSet> layer_sets(const std::vector<LayerCells>& layers);

// Calls visit(from, to) once for each ordered pair of two nodes that uses the element.
template <class Visit>
void visit_pairs(const Topology& topology, const Element& element, Visit visit) {
  const auto n = static_cast<std::int32_t>(topology.nodes);
  const bool sends = element.direction != Direction::kReceives;
  const bool receives = element.direction != Direction::kSends;
  const auto members = [&](std::int32_t leaf) -> const std::vector<std::int32_t>& {
    return topology.members[static_cast<std::size_t>(leaf)];
  };
  const auto leaf_of = [&](std::int32_t node) {
    return topology.leaf_of[static_cast<std::size_t>(node)];
  };
  const auto both_ways = [&](std::int32_t a, std::int32_t b) {
    if (sends) visit(a, b);
    if (receives) visit(b, a);
  };
  switch (element.kind) {
    case Kind::kPort:
    case Kind::kNode:
      for (std::int32_t other = 0; other < n; ++other)
        if (other != element.first) both_ways(element.first, other);
      return;
    case Kind::kPair:
      return both_ways(element.first, element.second);
    case Kind::kTrunk:
      for (const std::int32_t a : members(element.first))
        for (const std::int32_t b : members(element.second)) both_ways(a, b);
      return;
    case Kind::kLeaf:
    case Kind::kUplink:
      for (const std::int32_t a : members(element.first))
        for (std::int32_t other = 0; other < n; ++other) {
          if (leaf_of(other) != element.first)
            both_ways(a, other);
          else if (element.kind == Kind::kLeaf && other != a)
            visit(a, other);
        }
      return;
    case Kind::kSpine:
    case Kind::kRail:
      for (std::int32_t a = 0; a < n; ++a)
        for (std::int32_t b = 0; b < n; ++b)
          if (a != b && (element.kind == Kind::kRail || leaf_of(a) != leaf_of(b))) visit(a, b);
      return;
  }
}

// Return the sums of the element's figures on one layer, or on several layers; empty for a pair.
Sums sums_of(const Cells& cells, std::size_t layer, const Element& element);
Sums sums_of(const Cells& cells, std::span<const std::size_t> layers, const Element& element);

// A common shift of the element's figures against the rest of their layers, by least squares.
struct Shift {
  // Gain in log likelihood over "all like the rest"; 0 when the figures are not lower.
  double weight = 0;
  // The gain when the level of the rest is itself an estimate from the rest; at most `weight`.
  double proof = 0;
  // Drop as a share of the expected figure.
  double drop = 0;
};
Shift shift_of(const Cells& cells, const LayerSet& set, const Element& element);

// Returns the mean deviation of the layer's figures outside the element; 0 without such figures.
double rest_mean(const Cells& cells, std::size_t layer, const Sums& own);

// A mixture: some of the element's tasks are slow by `drop`, the others are as expected.
struct Mixture {
  // Gain in log likelihood over "all as expected".
  double weight = 0;
  // Gain over "all as expected, with a slightly larger spread"; at most `weight`.
  double proof = 0;
  // Drop as a share of the expected figure.
  double drop = 0;
  // Share of the tasks that are slow.
  double share = 0;
  double tasks = 0;
};
// Fits the share of slow tasks and their drop by expectation-maximisation over histograms of the
// bins.
Mixture mixture_of(const Cells& cells, const LayerSet& set, const Element& element);

// Counts over the single tasks of an element, which sums do not contain.
struct Census {
  double tasks = 0;
  // Number of tasks nearer to the slow figure than to the expected one.
  double slow = 0;
  // Numbers of distinct nodes, here and in the two members below.
  std::size_t slow_senders = 0;
  std::size_t slow_receivers = 0;
  // Number of slow nodes other than the element's first one.
  std::size_t slow_partners = 0;
  // True when the slow tasks are spread over nodes and pairs of leaves as by chance; false when
  // some nodes or pairs of leaves are always slow.
  bool even = true;
};
// Counts the element's tasks; `drop` separates slow ones. Linear in the number of tasks.
Census census_of(const Cells& cells, const LayerSet& set, const Element& element, double drop);

}  // namespace railgauge::localise
