// The search's form of the figures: one byte for each figure, with sums by sender, receiver and
// pair of leaves. The byte is the distance, in deviations of the noise, from the level of the
// figure's class (inside a leaf, or across leaves) on its layer. 1,024 nodes on 8 rails have 8
// million figures.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "controller/localise/localise.h"

namespace railgauge::localise {

// Largest number of nodes for localise_few.cc: elements are nearly as many as figures.
inline constexpr std::size_t kFewNodes = 8;

inline constexpr int kBins = 64;
// Width of a bin, in deviations of the noise.
inline constexpr double kBinWidth = 0.375;
// Bin that begins at deviation 0; bins reach from -18 to +6.
inline constexpr int kZeroBin = 48;
// Bin of a pair that was not measured, or whose figure is explained already.
inline constexpr std::uint8_t kNoFigure = 255;
// Limit of a low figure, in deviations; one healthy figure of 160 is below it.
inline constexpr double kLowDeviation = -2.5;

constexpr double deviation_of(int bin) { return (bin + 0.5 - kZeroBin) * kBinWidth; }

// Sums over a set of figures. A figure beyond the bins counts as the outermost bin, so that no
// single figure outweighs a set. Values are whole numbers times powers of two: the order of
// additions does not change the sums.
struct Sums {
  double count = 0;
  // Number of figures below kLowDeviation.
  double low = 0;
  // Sum of the deviations.
  double sum = 0;
  // Upper bound of the gain in log likelihood by any explanation of the set.
  double bound = 0;
  constexpr Sums& operator+=(const Sums& other) {
    count += other.count;
    low += other.low;
    sum += other.sum;
    bound += other.bound;
    return *this;
  }
  constexpr Sums& operator-=(const Sums& other) {
    return *this += {-other.count, -other.low, -other.sum, -other.bound};
  }
};

// Returns the contribution of one figure of `bin` to the sums.
constexpr Sums bin_sums(std::uint8_t bin) {
  const double z = deviation_of(bin);
  return {
      .count = 1, .low = z < kLowDeviation ? 1.0 : 0.0, .sum = z, .bound = z < -1 ? z * z / 2 : 0};
}

// The leaf of each node. Nodes of unknown leaf form a leaf of their own that is never accused.
struct Topology {
  std::size_t nodes = 0;
  std::vector<std::int32_t> leaf_of{};
  // By leaf: its nodes.
  std::vector<std::vector<std::int32_t>> members{};
  // By leaf: true when its name is known and it has two nodes or more.
  std::vector<bool> nameable{};
  // True when two leaves or more are nameable.
  bool has_leaves = false;
  explicit Topology(const PairData& data);
};

// The figures of one layer.
struct LayerCells {
  std::int32_t rail = 0;
  std::string memory{};
  // Noise of one figure, as a share.
  double noise = 0;
  // Expected figure inside a leaf and across leaves, in the unit of the layer.
  std::array<double, 2> centre{};
  // Bin of each pair, from-major.
  std::vector<std::uint8_t> bins{};
  Sums all{};
  // By sending node.
  std::vector<Sums> sends{};
  // By receiving node.
  std::vector<Sums> receives{};
  // By leaf of the sender, then leaf of the receiver.
  std::vector<Sums> blocks{};
};

// The figures of all layers as bins. Immutable except for put(), during which it is not thread
// safe. Copies are independent.
class Cells {
 public:
  // By layer: the expected figure inside a leaf and across leaves.
  using Centres = std::vector<std::array<double, 2>>;

  // Empty `centres`: the medians of all figures, which are wrong when half of them are slow. Empty
  // `noise` (by layer): estimated from neighbouring figures of a row or column.
  Cells(const PairData& data, const Options& options, const Centres& centres = {},
        const std::vector<double>& noise = {});
  // Returns the medians of the figures that are not explained yet.
  [[nodiscard]] Centres centres(Model model) const;

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] const std::vector<LayerCells>& layers() const { return layers_; }
  [[nodiscard]] std::uint8_t bin(std::size_t layer, std::int32_t from, std::int32_t to) const {
    return layers_[layer]
        .bins[static_cast<std::size_t>(from) * topology_.nodes + static_cast<std::size_t>(to)];
  }
  [[nodiscard]] const Sums& block(std::size_t layer, std::size_t from_leaf,
                                  std::size_t to_leaf) const {
    return layers_[layer].blocks[from_leaf * topology_.members.size() + to_leaf];
  }
  // Returns the expected figure of a pair, in the layer's unit.
  [[nodiscard]] double expected(std::size_t layer, std::int32_t from, std::int32_t to) const;

  // Moves a figure to another bin and updates the sums; kNoFigure removes it.
  void put(std::size_t layer, std::int32_t from, std::int32_t to, std::uint8_t bin);

 private:
  // Fills bins and sums of one layer from its figures and its centre and noise.
  void fill(const Layer& layer, Model model, LayerCells& cells) const;

  Topology topology_;
  std::vector<LayerCells> layers_;
};

// Fewest figures with which a class has its own median.
inline constexpr std::size_t kSmallClass = 4;

// Reports whether a figure was measured: false for NaN, infinities, 0 and negative values.
inline bool usable(float value) {
  // Both comparisons are false for NaN, the second one for infinity.
  return value > 0 && value <= std::numeric_limits<float>::max();
}

// Returns the medians inside a leaf and across leaves, in the layer's unit; 0 without figures.
std::array<double, 2> centres_of(const Layer& layer, const Topology& topology);

// Returns the scatter of one figure as a share of its class's centre.
double noise_of(const Layer& layer, const Topology& topology, const std::array<double, 2>& centres);

// Returns the value below which `share` of the values are; reorders the values, which must be
// finite and not empty.
double quantile(std::vector<float>& values, double share);

}  // namespace railgauge::localise
