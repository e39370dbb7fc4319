// Localisation: finds the parts of the fabric that make pairs slow. The bandwidth from node i to
// node j is the minimum over i's sending side, the path and j's receiving side, so a slow part
// lowers exactly the pairs that use it. Each part is the set of its pairs; the set that explains
// the figures best is the suspect. Latency adds up instead. Pure: equal input gives an equal
// answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::localise {

// Rule by which the figures of parts combine to the figure of a pair.
enum class Model {
  // Bandwidth: larger is better, the slowest part decides.
  kMinimum,
  // Latency: smaller is better, parts add up.
  kAdditive,
};

// The figures of all ordered pairs of nodes on one rail, for one kind of memory.
struct Layer {
  std::int32_t rail = 0;
  // "host", "gpu".
  std::string memory{};
  // From-major, nodes squared, in any one unit; NaN: not measured.
  std::vector<float> values{};
  // Lower bound of one figure's noise, as a share, from repetitions of a pair and direction and
  // from the samples within the points. 0: not known.
  double repeat_noise = 0;
};

// Kind of the ends of the pairs. The words of a suspect follow it; the search does not.
enum class Ends {
  // Nodes on rails, below leaves.
  kNodes,
  // GPUs on one layer without rails; a leaf is the host that has them, and `memory` is the way of
  // copying.
  kGpus,
};

// Input of a localisation: nodes, their leaves, and a matrix of figures for each rail and kind of
// memory. Sizes must fit; find_suspects() checks them.
struct PairData {
  Model model = Model::kMinimum;
  Ends ends = Ends::kNodes;
  // Names by number; all indices below are into this list.
  std::vector<std::string> nodes{};
  // By node: index into `leaves`; -1: unknown. Empty: all leaves are unknown, and no leaf, trunk or
  // spine can be named.
  std::vector<std::int32_t> leaf_of{};
  std::vector<std::string> leaves{};
  // One layer for each rail and kind of memory.
  std::vector<Layer> layers{};
  // True when a model produced some of the figures.
  bool synthetic = false;
};

// Bounds of the input. A search takes a byte and a float of memory for each figure.
inline constexpr std::size_t kMaxNodes = 4'096;
inline constexpr std::size_t kMaxLayers = 256;

// Kinds of parts that a localisation can name.
enum class Kind {
  // NIC, cable or switch port of one node on one rail.
  kPort,
  // A node, on all its rails.
  kNode,
  // One rail on all nodes.
  kRail,
  // A leaf switch: all pairs of its nodes, inside and out.
  kLeaf,
  // The links from a leaf to the spines: all links, or one link, which is then intermittent.
  kUplink,
  // The links between two leaves.
  kTrunk,
  // One spine switch, which some pairs of all leaves use.
  kSpine,
  // The path between two nodes.
  kPair,
};
// Direction of the slow figures. For a pair or trunk, kSends is from its first end to its second.
enum class Direction { kSends, kReceives, kBoth };

// A part of the fabric.
struct Element {
  Kind kind = Kind::kNode;
  // Number of the node or of the leaf.
  std::int32_t first = -1;
  // The other node of a pair, the other leaf of a trunk.
  std::int32_t second = -1;
  // -1: all rails.
  std::int32_t rail = -1;
  // "": every kind of memory; "gpu": the path between GPU and NIC.
  std::string memory{};
  Direction direction = Direction::kBoth;
  // True when only some of the element's tasks are slow.
  bool intermittent = false;
  bool operator==(const Element&) const = default;
};

// Reports whether the element is a node or a port of one: all its pairs have this node as an end.
constexpr bool is_of_node(const Element& element) {
  return element.kind == Kind::kPort || element.kind == Kind::kNode;
}

// One figure as evidence against a suspect.
struct PairFigure {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t rail = 0;
  std::string memory{};
  // Expected figure, in the unit of the layers.
  double expected = 0;
  double seen = 0;
};

// A part that explains slow figures, with the evidence for an operator.
struct Suspect {
  Element element{};
  // Share of bandwidth that is missing, or of latency that is added; 0.1 is 10 %.
  double drop = 0;
  // Share of the element's tasks that are slow; below 1 only when intermittent.
  double share = 1;
  // Gain in log likelihood by this explanation; ranks the suspects.
  double weight = 0;
  // True when two slow tasks share only this element. A suspect without this proof is not called
  // bad, but measured again.
  bool confirmed = false;
  // Reason why the suspect is not confirmed; "" when it was merely seen only once.
  std::string doubt{};
  // Number of measured tasks that use the element.
  double tasks = 0;
  // Number of these tasks that are nearer to the slow figure than to the expected one.
  double slow_tasks = 0;
  // Expected figure: the median over the element's tasks.
  double expected = 0;
  // Median over the element's slow tasks.
  double seen = 0;
  // The clearest slow figures, at most kMaxEvidence.
  std::vector<PairFigure> evidence{};
  // One phrase for each related part that behaves as expected.
  std::vector<std::string> ruled_out{};
  // One line for an operator.
  std::string sentence{};
};
// Bound of the figures that a suspect lists.
inline constexpr std::size_t kMaxEvidence = 8;

// Thresholds of the search. Defaults are those of the detection table
// (deploy/docs/guide/localisation.md).
struct Options {
  // Least drop of a fault; smaller drops are differences between machines.
  double least_drop = 0.02;
  // Least drop of a single pair.
  double least_path_drop = 0.07;
  // Least noise of one figure, as a share; the observed noise counts where it is larger.
  double least_noise = 0.005;
  // Chance of an accusation in a healthy fabric with normal noise.
  double false_accusation = 0.001;
  // The same chance for few nodes (localise_few.cc), where figures of a host may share noise.
  double few_false_accusation = 0.01;
  std::size_t max_suspects = 16;
};

// Result of a search.
struct Localisation {
  // Confirmed suspects first, each group by weight.
  std::vector<Suspect> suspects{};
  // Number of figures in all layers.
  double measured_pairs = 0;
  double possible_pairs = 0;
  // Nodes without any figure; such a node never passes.
  std::vector<std::int32_t> unmeasured_nodes{};
  // Noise of one figure as a share, the largest among the layers.
  double noise = 0;
  bool synthetic = false;
};

// Finds the parts that explain the slow figures. kInvalidArgument: sizes that do not fit, an
// unknown leaf, a layer twice, or more than the bounds. kFailedPrecondition: nothing was measured.
// Thread safe; a call uses one thread.
Result<Localisation> find_suspects(const PairData& data, const Options& options = {});

// Returns "port", "node", "rail", "leaf", "uplink", "trunk", "spine" or "pair".
std::string_view kind_word(Kind kind);
// The same among such ends: "gpu", "node" or "pair" between GPUs.
std::string_view kind_word_among(Ends ends, Kind kind);
// Returns "sends", "receives" or "both".
std::string_view direction_word(Direction direction);

}  // namespace railgauge::localise
