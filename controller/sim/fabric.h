// Model of a fabric: nodes under leaves, leaves under spines, rails, flows spread over the spines
// by a hash, noise, faults. Yields figures of pairs like a run, marked synthetic. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "controller/localise/localise.h"
#include "controller/sim/random.h"

namespace railgauge::simulator {

// Size and noise of a modelled fabric. Equal specs give equal figures.
struct FabricSpec {
  std::uint32_t nodes = 64;
  std::uint32_t nodes_per_leaf = 16;
  std::uint32_t spines = 4;
  std::uint32_t rails = 2;
  // True when GPU memory is measured beside host memory.
  bool gpu_memory = true;
  // Standard deviation of one figure, as a share.
  double noise = 0.02;
  std::uint64_t seed = 1;
  bool operator==(const FabricSpec&) const = default;
};

// The random part of one figure.
struct Draw {
  // The spine (inside a leaf: 0), and kSlowTask.
  std::uint16_t path = 0;
  // Factor of the noise on the figure.
  float factor = 1;
};
// Marks a slow task of a part that flaps.
inline constexpr std::uint16_t kSlowTask = 0x8000;

// Draws the random part of the next figure, from a single sequence of random numbers, so that a
// seed keeps its meaning.
Draw draw(Random& random, const FabricSpec& spec, bool is_across, bool is_flapping);

// The random parts of all pairs on one layer, from-major. A node's factor to itself is NaN.
struct LayerChance {
  std::vector<float> factors{};
  std::vector<std::uint16_t> paths{};
};

// Marks of flapping nodes, by layer and node; their tasks draw one more random number.
using Flapping = std::vector<std::vector<char>>;

// The random parts of all layers. Not thread safe: each thread has its own, inside Figures.
class Chance {
 public:
  // Draws for all pairs, layer by layer, or reuses the last call's draws from the same state of
  // `random`. Advances `random` past these draws. Returns true for new draws.
  bool prepare(Random& random, const FabricSpec& spec, const Flapping& flapping);
  [[nodiscard]] const std::vector<LayerChance>& layers() const { return layers_; }

 private:
  FabricSpec spec_{};
  // Empty: nothing was drawn yet.
  Flapping flapping_{};
  Random begin_{0};
  Random end_{0};
  std::vector<LayerChance> layers_{};
};

// Kinds of faults; their numbers are values of the flag --kinds.
enum class FaultKind {
  kNone,
  // A NIC's sending side.
  kNicSends,
  // The receiving side of a NIC.
  kNicReceives,
  // Between GPU and NIC: GPU memory alone, both directions.
  kGpuPath,
  kRail,
  // A NIC in both directions.
  kCable,
  kLeaf,
  // The links between two leaves, both directions.
  kTrunk,
  // One leaf's link to one spine: what the hash puts on it, both directions.
  kSpineLink,
  kNode,
  // A NIC, in half of its tasks.
  kFlapping,
  // The path of one pair, in one direction.
  kPair,
  // Two different ones of those above, apart from each other.
  kTwo,
};
// Number of values of FaultKind.
inline constexpr int kFaultKinds = 13;
// The word of a kind in tables and files.
std::string_view fault_word(FaultKind kind);

// A fault: the element that a localisation should name, and the share of bandwidth (of its slow
// tasks) that the fault takes. Faults on different parts of one pair do not multiply: the slowest
// part decides.
struct Fault {
  localise::Element element{};
  // Number of the spine, for a spine link; else -1.
  std::int32_t spine = -1;
  double drop = 0;
};

// Shared by many trials of any faults: figures stay, and are drawn and made anew only where a trial
// differs from the one before. Millions of them a trial.
// Memory that trials share; one thread uses it at a time.
class Figures {
  friend class Fabric;
  struct Made {
    // Bandwidth of the whole layer, in bytes per second.
    float scale = 0;
    // True when a fault shows in the figures, or none were made yet.
    bool is_patched = true;
  };
  // Fabric to which the members below belong.
  FabricSpec spec_{};
  Chance chance_{};
  localise::PairData all_{};
  // By layer of `all_`.
  std::vector<Made> made_{};
  localise::PairData quick_{};
  // Indices of the figures that the last quick scan wrote, in each layer of `quick_`.
  std::vector<std::size_t> written_{};
};

// Not thread safe.
class Fabric {
 public:
  // A healthy fabric; the seed of the spec decides all chance in it.
  explicit Fabric(const FabricSpec& spec);

  // Faults of that kind at random places of this fabric, two for kTwo, none for kNone. Leaves,
  // trunks and links are hit on one rail or on all, by chance.
  std::vector<Fault> random_faults(FaultKind kind, double drop);
  // Adds a fault. Faults stay for the life of the fabric.
  void inject(const Fault& fault);

  // Measures every node with every other, in both directions, on all rails and kinds of memory.
  localise::PairData all_pairs();
  // Measures `rounds` rounds of random pairs, in both directions.
  localise::PairData quick_scan(std::uint32_t rounds);
  // Return the same figures in the memory of `reused`, valid until its next use.
  const localise::PairData& all_pairs(Figures& reused);
  const localise::PairData& quick_scan(std::uint32_t rounds, Figures& reused);

 private:
  // Remaining shares of all parts on one layer.
  struct LayerState {
    // By node: the remaining share of its bandwidth, 1 is all.
    std::vector<float> sends, receives;
    std::vector<float> leaves;
    // By pair of leaves, from-major.
    std::vector<float> trunks;
    // By leaf, then spine.
    std::vector<float> uplinks;
    // By node: 1 when it flaps.
    std::vector<char> flapping;
    float flapping_left = 1;
    float scale = 1;
    std::vector<Fault> pairs;
  };
  // Draws node, rail, leaf and spread in a fixed order, so that a seed means the same place for
  // every kind.
  Fault random_fault(FaultKind kind, double drop);
  [[nodiscard]] std::uint32_t leaf_of(std::uint32_t node) const { return leaf_of_[node]; }
  // The input of a localisation without any figure.
  [[nodiscard]] localise::PairData empty() const;
  // Resets reused memory that belongs to a fabric of another shape.
  void take(Figures& figures) const;
  // One figure, with all faults.
  [[nodiscard]] float figure(const LayerState& layer, std::uint32_t from, std::uint32_t to,
                             const Draw& drawn) const;
  // Writes the figures of a layer as if only its scale were changed.
  void make_healthy(const LayerState& layer, const LayerChance& chance,
                    std::vector<float>& values) const;
  // Rewrites the figures that a fault may change.
  bool patch(const LayerState& layer, const LayerChance& chance, std::vector<float>& values) const;
  // By leaf: 1 where a fault of the leaf, a trunk or a link lowers figures.
  [[nodiscard]] std::vector<char> touched_leaves(const LayerState& layer) const;
  // Lowers the parts of one layer by one fault.
  void apply(LayerState& layer, const Fault& fault) const;

  FabricSpec spec_;
  std::uint32_t leaves_;
  Random random_;
  // By node.
  std::vector<std::uint32_t> leaf_of_;
  std::vector<LayerState> layers_;
  // Rail and memory of each layer, without figures.
  std::vector<localise::Layer> keys_;
};

}  // namespace railgauge::simulator
