// A modelled fabric: nodes under leaves, leaves under spines, rails, flows spread over the spines
// by a hash, noise, faults. Gives figures of pairs as a run does, marked synthetic. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "controller/localise/localise.h"
#include "controller/sim/random.h"

namespace railgauge::simulator {

struct FabricSpec {
  std::uint32_t nodes = 64;
  std::uint32_t nodes_per_leaf = 16;
  std::uint32_t spines = 4;
  std::uint32_t rails = 2;
  bool gpu_memory = true;  // beside host memory
  double noise = 0.02;     // of one figure, as a share
  std::uint64_t seed = 1;
  bool operator==(const FabricSpec&) const = default;
};

// For one figure.
struct Draw {
  std::uint16_t path = 0;  // the spine (inside a leaf: 0), and kSlowTask
  float factor = 1;        // what the noise makes of it
};
inline constexpr std::uint16_t kSlowTask = 0x8000;  // of a part that flaps

// The next figure's: of one sequence of random numbers, so that a seed means the same for ever.
Draw draw(Random& random, const FabricSpec& spec, bool is_across, bool is_flapping);

// For all pairs on one layer, from-major. A node's figure to itself is no number.
struct LayerChance {
  std::vector<float> factors{};
  std::vector<std::uint16_t> paths{};
};

// Whether a node flaps, by layer and node: its tasks take one number more.
using Flapping = std::vector<std::vector<char>>;

class Chance {
 public:
  // Draws for all pairs from `random` on, layer by layer, or takes what the last call drew from the
  // same state. `random` is left behind them. True: they were drawn anew.
  bool prepare(Random& random, const FabricSpec& spec, const Flapping& flapping);
  [[nodiscard]] const std::vector<LayerChance>& layers() const { return layers_; }

 private:
  FabricSpec spec_{};
  Flapping flapping_{};  // empty: nothing was drawn yet
  Random begin_{0};
  Random end_{0};
  std::vector<LayerChance> layers_{};
};

enum class FaultKind {
  kNone,
  kNicSends,     // a NIC's sending side
  kNicReceives,  // its receiving side
  kGpuPath,      // between GPU and NIC: GPU memory alone, both directions
  kRail,
  kCable,  // a NIC in both directions
  kLeaf,
  kTrunk,      // between two leaves, both directions
  kSpineLink,  // one leaf's link to one spine: what the hash puts on it, both directions
  kNode,
  kFlapping,  // a NIC, in half of its tasks
  kPair,      // one path, in one direction
  kTwo,       // two different ones of those above, apart from each other
};
inline constexpr int kFaultKinds = 13;
std::string_view fault_word(FaultKind kind);

// A fault: the element as a localisation should name it, and the share of the bandwidth (of its
// slow tasks) that it takes.
struct Fault {
  localise::Element element{};
  std::int32_t spine = -1;  // of a spine link
  double drop = 0;
};

// Shared by many trials of any faults: figures stay, and are drawn and made anew only where a trial
// differs from the one before. Millions of them a trial.
class Figures {
  friend class Fabric;
  struct Made {
    float scale = 0;         // of the whole layer
    bool is_patched = true;  // what is wrong shows in it, or nothing was made yet
  };
  FabricSpec spec_{};  // of all that follows
  Chance chance_{};
  localise::PairData all_{};
  std::vector<Made> made_{};  // by layer of `all_`
  localise::PairData quick_{};
  std::vector<std::size_t> written_{};  // places in each layer of `quick_`
};

class Fabric {
 public:
  explicit Fabric(const FabricSpec& spec);

  // Faults of that kind at random places of this fabric, two for kTwo, none for kNone. Leaves,
  // trunks and links are hit on one rail or on all, by chance.
  std::vector<Fault> random_faults(FaultKind kind, double drop);
  void inject(const Fault& fault);

  // Every node with every other, both directions, all rails and kinds of memory.
  localise::PairData all_pairs();
  // So many rounds of random pairs, both directions.
  localise::PairData quick_scan(std::uint32_t rounds);
  // The same figures, in `reused`'s memory: until its next use.
  const localise::PairData& all_pairs(Figures& reused);
  const localise::PairData& quick_scan(std::uint32_t rounds, Figures& reused);

 private:
  struct LayerState {
    std::vector<float> sends, receives;  // by node: what is left, 1 is all
    std::vector<float> leaves;
    std::vector<float> trunks;   // leaf squared
    std::vector<float> uplinks;  // leaf times spine
    std::vector<char> flapping;  // by node
    float flapping_left = 1;
    float scale = 1;
    std::vector<Fault> pairs;
  };
  Fault random_fault(FaultKind kind, double drop);
  [[nodiscard]] std::uint32_t leaf_of(std::uint32_t node) const { return leaf_of_[node]; }
  [[nodiscard]] localise::PairData empty() const;
  void take(Figures& figures) const;
  [[nodiscard]] float figure(const LayerState& layer, std::uint32_t from, std::uint32_t to,
                             const Draw& drawn) const;
  void make_healthy(const LayerState& layer, const LayerChance& chance,
                    std::vector<float>& values) const;
  bool patch(const LayerState& layer, const LayerChance& chance, std::vector<float>& values) const;
  [[nodiscard]] std::vector<char> touched_leaves(const LayerState& layer) const;
  void apply(LayerState& layer, const Fault& fault) const;

  FabricSpec spec_;
  std::uint32_t leaves_;
  Random random_;
  std::vector<std::uint32_t> leaf_of_;  // by node
  std::vector<LayerState> layers_;
  std::vector<localise::Layer> keys_;  // without figures
};

}  // namespace railgauge::simulator
