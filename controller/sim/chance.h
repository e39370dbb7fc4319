// The part of chance in the figures of all pairs: their noise, the spine that each flow meets, and
// which tasks of a flapping part are slow. It follows from the seed and from how many numbers were
// drawn before, not from the fault or its size: trials of one seed can share it.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace railgauge::simulator
