// A modelled fabric: nodes under leaves, leaves under spines, rails, flows spread over the spines
// by a hash, noise, faults. Gives figures of pairs as a run does, marked synthetic. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "controller/analysis/localise.h"
#include "controller/analysis/simulator/random.h"

namespace railgauge::simulator {

struct FabricSpec {
  std::uint32_t nodes = 64;
  std::uint32_t nodes_per_leaf = 16;
  std::uint32_t spines = 4;
  std::uint32_t rails = 2;
  bool gpu_memory = true;  // beside host memory
  double noise = 0.02;     // of one figure, as a share
  std::uint64_t seed = 1;
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

// What is wrong: the element as a localisation should name it, and how much of the bandwidth (of
// its slow tasks) it takes.
struct Fault {
  localise::Element element{};
  std::int32_t spine = -1;  // of a spine link
  double drop = 0;
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
  localise::PairData empty() const;
  float figure(LayerState& layer, const localise::Layer& key, std::uint32_t from, std::uint32_t to);
  void apply(LayerState& layer, const Fault& fault) const;

  FabricSpec spec_;
  std::uint32_t leaves_;
  Random random_;
  std::vector<std::uint32_t> leaf_of_;  // by node
  std::vector<LayerState> layers_;
  std::vector<localise::Layer> keys_;  // without figures
};

}  // namespace railgauge::simulator
