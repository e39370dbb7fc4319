// From figures of pairs to the part that makes them slow. Bandwidth from node i to node j is the
// least of what i sends, the path carries and j receives, so a slow part lowers exactly the pairs
// that use it: each part is the set of its pairs, and the set that explains the figures best is the
// suspect. Latency adds up instead. Pure: plain values in, plain values out; same input, same
// answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::localise {

// How the figures of parts combine to the figure of a pair.
enum class Model {
  // Bandwidth: larger is better, the slowest part decides.
  kMinimum,
  // Latency: smaller is better, parts add up.
  kAdditive,
};

// Everybody's figure to everybody on one rail, of one kind of memory.
struct Layer {
  std::int32_t rail = 0;
  // "host", "gpu".
  std::string memory{};
  // From-major, nodes squared, in any one unit; NaN: not measured.
  std::vector<float> values{};
  // The noise of one figure, as a share, from repetitions of a pair and direction and the samples
  // within the points: the noise is that at least. 0: not known.
  double repeat_noise = 0;
};

// Input of a localisation: nodes, their leaves, and a matrix of figures for each rail and kind of
// memory. Sizes must fit; find_suspects() checks them.
struct PairData {
  Model model = Model::kMinimum;
  // Names by number; all indices below are into this list.
  std::vector<std::string> nodes{};
  // By node: index into `leaves`; -1: unknown. Empty: of none is it known, and no leaf, trunk or
  // spine can be named.
  std::vector<std::int32_t> leaf_of{};
  std::vector<std::string> leaves{};
  // Each rail and memory kind once.
  std::vector<Layer> layers{};
  // A model had a part in the figures.
  bool synthetic = false;
};

// Bounds of the input. The memory is a byte and a float for each figure.
inline constexpr std::size_t kMaxNodes = 4'096;
inline constexpr std::size_t kMaxLayers = 256;

// Kinds of parts that a localisation can name.
enum class Kind {
  // NIC, cable or switch port of one node on one rail.
  kPort,
  // A node on all its rails.
  kNode,
  // One rail on all nodes.
  kRail,
  // A leaf switch: all pairs of its nodes, inside and out.
  kLeaf,
  // The links from a leaf to the spines: all of them, or one link (then intermittent).
  kUplink,
  // The links between two leaves.
  kTrunk,
  // One spine switch: some pairs of all leaves use it.
  kSpine,
  // The path between two nodes.
  kPair,
};
// For a pair or trunk, kSends is from its first end to its second.
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
  // "" is every kind; "gpu" alone: the path between GPU and NIC.
  std::string memory{};
  Direction direction = Direction::kBoth;
  // Some of its tasks are slow, others are not.
  bool intermittent = false;
  bool operator==(const Element&) const = default;
};

// Whether the element is a node or one of its ports: all its pairs have that node as an end.
constexpr bool is_of_node(const Element& element) {
  return element.kind == Kind::kPort || element.kind == Kind::kNode;
}

// One task that speaks against a suspect, or for what was ruled out.
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
  // Share of bandwidth that is missing (of latency that is added), 0.1 is 10 %.
  double drop = 0;
  // Share of its tasks that are slow; below 1 only when intermittent.
  double share = 1;
  // Log likelihood won by this explanation: ranks the suspects.
  double weight = 0;
  // Two tasks that share nothing but this element failed. Without that nothing is called bad; such
  // a suspect is one to measure again.
  bool confirmed = false;
  // Why not, where it is not that it was seen once only.
  std::string doubt{};
  // Number of measured tasks that use the element.
  double tasks = 0;
  // Number of these that are nearer to the slow figure than to the expected one.
  double slow_tasks = 0;
  // Median over its tasks.
  double expected = 0;
  // Median over its slow tasks.
  double seen = 0;
  // The clearest slow figures, at most kMaxEvidence.
  std::vector<PairFigure> evidence{};
  // One phrase for each part that behaves as expected.
  std::vector<std::string> ruled_out{};
  // One line for an operator.
  std::string sentence{};
};
// Figures that a suspect lists.
inline constexpr std::size_t kMaxEvidence = 8;

// Thresholds of the search. Defaults are those of the detection table
// (deploy/docs/guide/localisation.md).
struct Options {
  // Smaller ones are differences between machines, not faults.
  double least_drop = 0.02;
  // Least drop of a single pair.
  double least_path_drop = 0.07;
  // Least noise of one figure, as a share; the observed noise counts where it is larger.
  double least_noise = 0.005;
  // Chance that a healthy fabric is accused, by design for noise of a bell's shape.
  double false_accusation = 0.001;
  // The same of a fabric of few nodes (localise_few.cc), for noise that hosts may have in common.
  double few_false_accusation = 0.01;
  std::size_t max_suspects = 16;
};

// Result of a search.
struct Localisation {
  // Confirmed ones first, by weight.
  std::vector<Suspect> suspects{};
  // Number of figures in all layers.
  double measured_pairs = 0;
  double possible_pairs = 0;
  // Nodes without any figure: such a node never passes.
  std::vector<std::int32_t> unmeasured_nodes{};
  // Noise of one figure, as a share: the largest among the layers.
  double noise = 0;
  bool synthetic = false;
};

// Finds the parts that explain the slow figures. kInvalidArgument: sizes that do not fit, an
// unknown leaf, a layer twice, or more than the bounds. kFailedPrecondition: nothing was measured.
// Thread safe; a call uses one thread.
Result<Localisation> find_suspects(const PairData& data, const Options& options = {});

// "port", "node", "rail", "leaf", "uplink", "trunk", "spine", "pair".
std::string_view kind_word(Kind kind);
// "sends", "receives", "both".
std::string_view direction_word(Direction direction);

}  // namespace railgauge::localise
