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

enum class Model {
  kMinimum,   // bandwidth: larger is better, the slowest part decides
  kAdditive,  // latency: smaller is better, parts add up
};

// Everybody's figure to everybody on one rail, of one kind of memory.
struct Layer {
  std::int32_t rail = 0;
  std::string memory{};         // "host", "gpu"
  std::vector<float> values{};  // from-major, nodes squared, in any one unit; NaN: not measured
  // The noise of one figure, as a share, from repetitions of a pair and direction and the samples
  // within the points: the noise is that at least. 0: not known.
  double repeat_noise = 0;
};

struct PairData {
  Model model = Model::kMinimum;
  std::vector<std::string> nodes{};
  // By node: index into `leaves`; -1: unknown. Empty: of none is it known, and no leaf, trunk or
  // spine can be named.
  std::vector<std::int32_t> leaf_of{};
  std::vector<std::string> leaves{};
  std::vector<Layer> layers{};  // each rail and memory kind once
  bool synthetic = false;       // a model had a part in the figures
};

inline constexpr std::size_t kMaxNodes = 4'096;
inline constexpr std::size_t kMaxLayers = 256;

enum class Kind {
  kPort,    // NIC, cable or switch port of one node on one rail
  kNode,    // a node on all its rails
  kRail,    // one rail as a whole
  kLeaf,    // a leaf switch: all pairs of its nodes, inside and out
  kUplink,  // what leads from a leaf to the spines: all of it, or one link (then intermittent)
  kTrunk,   // between two leaves
  kSpine,   // one spine: some pairs of all leaves
  kPair,    // the path between two nodes
};
enum class Direction { kSends, kReceives, kBoth };  // of a pair or trunk, kSends: first to second

// A part of the fabric.
struct Element {
  Kind kind = Kind::kNode;
  std::int32_t first = -1;   // the node, or the leaf
  std::int32_t second = -1;  // of a pair the other node, of a trunk the other leaf
  std::int32_t rail = -1;    // -1: all rails
  std::string memory{};      // "" is every kind; "gpu" alone: the path between GPU and NIC
  Direction direction = Direction::kBoth;
  bool intermittent = false;  // some of its tasks are slow, others are not
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
  double expected = 0;  // in the layers' unit
  double seen = 0;
};

struct Suspect {
  Element element{};
  double drop = 0;    // share of bandwidth that is missing (of latency that is added), 0.1 is 10 %
  double share = 1;   // of its tasks that are slow; below 1 only when intermittent
  double weight = 0;  // log likelihood won by this explanation: ranks the suspects
  // Two tasks that share nothing but this element failed. Without that nothing is called bad; such
  // a suspect is one to measure again.
  bool confirmed = false;
  std::string doubt{};    // why not, where it is not that it was seen once only
  double tasks = 0;       // measured ones that use it
  double slow_tasks = 0;  // of these, nearer to the slow figure than to the expected one
  double expected = 0;    // median over its tasks
  double seen = 0;        // median over its slow tasks
  std::vector<PairFigure> evidence{};    // the clearest ones, at most kMaxEvidence
  std::vector<std::string> ruled_out{};  // one phrase each
  std::string sentence{};                // for an operator, one line
};
inline constexpr std::size_t kMaxEvidence = 8;

struct Options {
  double least_drop = 0.02;       // smaller ones are differences between machines, not faults
  double least_path_drop = 0.07;  // of a single pair
  double least_noise = 0.005;     // of one figure; what is seen is taken where it is larger
  // Chance that a healthy fabric is accused, by design for noise of a bell's shape.
  double false_accusation = 0.001;
  // The same of a fabric of few nodes (localise_few.h), for noise that hosts may have in common.
  double few_false_accusation = 0.01;
  std::size_t max_suspects = 16;
};

struct Localisation {
  std::vector<Suspect> suspects{};  // confirmed ones first, by weight
  double measured_pairs = 0;        // figures in all layers
  double possible_pairs = 0;
  std::vector<std::int32_t> unmeasured_nodes{};  // no figure at all: never a pass
  double noise = 0;  // of one figure, as a share: the largest of the layers'
  bool synthetic = false;
};

// kInvalidArgument: sizes that do not fit, a leaf that is not there, a layer twice, above the
// bounds. kFailedPrecondition: nothing was measured.
Result<Localisation> find_suspects(const PairData& data, const Options& options = {});

// "port", "node", "rail", "leaf", "uplink", "trunk", "spine", "pair".
std::string_view kind_word(Kind kind);
// "sends", "receives", "both".
std::string_view direction_word(Direction direction);

}  // namespace railgauge::localise
