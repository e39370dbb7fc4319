// Levels of all parts in one night. The figure of a pair is a sum, in logarithms, of the level of
// its class, of its rail, of the sender's side and of the receiver's side; what is left over
// belongs to the links between the two leaves, or to the pair alone. A robust fit separates them,
// so that a slow port is seen whatever its partners of the night were. Pure; thread safe.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "controller/parts/night_figures.h"
#include "kernels/core/base/result.h"

namespace railgauge::parts {

// Level of one part: the natural logarithm of expected over seen, positive is worse. 0.105 is a
// rate that is 10 % too low.
struct Level {
  float loss = std::numeric_limits<float>::quiet_NaN();
  // Standard error of the loss by the noise of single figures.
  float error = std::numeric_limits<float>::quiet_NaN();
  [[nodiscard]] bool known() const { return !std::isnan(loss); }
};

// A figure far below what its ends and leaves explain.
struct PairLoss {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t rail = 0;
  bool gpu = false;
  float loss = 0;
};

enum class Side : std::uint8_t { kSends, kReceives };
// Memory that levels of NICs and switches are taken from, and the difference that GPUs make.
enum class Memory : std::uint8_t { kBase, kGpu };

// All levels of one night.
struct Levels {
  std::vector<NightNode> nodes{};
  std::vector<std::string> leaves{};
  std::vector<std::int32_t> rail_class{};
  std::uint32_t rails = 0;
  // False: one kind of memory was measured, and the loss of a GPU and that of its port look alike.
  bool has_gpu = false;
  // By memory, side, node, rail. Relative to the centre of the rail.
  std::vector<Level> ends{};
  // By memory, rail: level of the rail's centre relative to the classes of all rails.
  std::vector<Level> centres{};
  // By rail, leaf of the sender, leaf of the receiver, of the base memory: what the ends leave
  // over. Inside a leaf: the level with the ends' part in it.
  std::vector<Level> blocks{};
  // Pairs with a loss of kPairLoss or more, the largest first, at most kMostPairLosses.
  std::vector<PairLoss> pairs{};
  // Number of figures that were used.
  std::uint64_t figures = 0;
  // Standard deviation of a single figure, as a share; the largest among the layers.
  double noise = 0;
  // The largest residual in the other direction: figures that are better than expected.
  double largest_gain = 0;
  // One line for each reason for which figures were left out.
  std::vector<std::string> left_out{};

  [[nodiscard]] const Level& end(Memory memory, Side side, std::size_t node,
                                 std::size_t rail) const {
    return ends[((static_cast<std::size_t>(memory) * 2 + static_cast<std::size_t>(side)) *
                     nodes.size() +
                 node) *
                    rails +
                rail];
  }
  [[nodiscard]] const Level& centre(Memory memory, std::size_t rail) const {
    return centres[static_cast<std::size_t>(memory) * rails + rail];
  }
  [[nodiscard]] const Level& block(std::size_t rail, std::size_t from, std::size_t to) const {
    return blocks[(rail * leaves.size() + from) * leaves.size() + to];
  }
};

// Least loss of a single pair that is kept, and how many are.
inline constexpr double kPairLoss = 0.07;
inline constexpr std::size_t kMostPairLosses = 4'096;

// Fits the levels. Figures that are not above 0 or not finite, or of a node with itself, are left
// out, with a reason. Equal figures in another order give equal levels but for rounding.
// kInvalidArgument: an index out of range, or more than the bounds. kFailedPrecondition: no figure
// is left.
Result<Levels> levels_of(const NightFigures& night);

}  // namespace railgauge::parts
