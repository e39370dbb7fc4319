// The figures in the form that the search reads: each as a byte with its distance, in deviations of
// the noise, from the level of its class (inside a leaf, across) on its layer, with sums by sender,
// receiver and pair of leaves. A byte a figure, since 1,024 nodes on 8 rails are 8 million.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "controller/localise/localise.h"

namespace railgauge::localise {

// So few nodes that elements are nearly as many as figures (localise_few.cc).
inline constexpr std::size_t kFewNodes = 8;

inline constexpr int kBins = 64;
// Width of a bin, in deviations of the noise.
inline constexpr double kBinWidth = 0.375;
// Bin that begins at deviation 0: bins reach from -18 to +6.
inline constexpr int kZeroBin = 48;
// Not measured, or explained already.
inline constexpr std::uint8_t kNoFigure = 255;
// Limit of a low figure; a healthy one is below it once in 160.
inline constexpr double kLowDeviation = -2.5;

constexpr double deviation_of(int bin) { return (bin + 0.5 - kZeroBin) * kBinWidth; }

// Sums over a set of figures; a figure beyond the bins counts as the last one, so that no single
// figure outweighs a set.
// Whole numbers times powers of two, so that the order of additions does not change them.
struct Sums {
  double count = 0;
  // Number of figures below kLowDeviation.
  double low = 0;
  // Sum of the deviations.
  double sum = 0;
  // No explanation of the set can win more log likelihood.
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

// The contribution of one figure in that bin to the sums.
constexpr Sums bin_sums(std::uint8_t bin) {
  const double z = deviation_of(bin);
  return {
      .count = 1, .low = z < kLowDeviation ? 1.0 : 0.0, .sum = z, .bound = z < -1 ? z * z / 2 : 0};
}

// Who is in which leaf. Nodes of unknown leaf make up a leaf of their own that is never accused.
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

// Immutable but for put(). Copies are independent. Not thread safe while put() runs.
class Cells {
 public:
  // By layer: the expected figure inside a leaf and across leaves.
  using Centres = std::vector<std::array<double, 2>>;

  // Without `centres`: the medians of all figures, which are off where half of them are slow.
  // Without `noise` (by layer): as figures that follow each other in a row or column show it.
  Cells(const PairData& data, const Options& options, const Centres& centres = {},
        const std::vector<double>& noise = {});
  // The medians of what is not explained yet.
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
  // The expected value of that pair, in the layer's unit.
  [[nodiscard]] double expected(std::size_t layer, std::int32_t from, std::int32_t to) const;

  // Gives the figure another bin (kNoFigure takes it away), sums included.
  void put(std::size_t layer, std::int32_t from, std::int32_t to, std::uint8_t bin);

 private:
  // Fills bins and sums of one layer from its figures and its centre and noise.
  void fill(const Layer& layer, Model model, LayerCells& cells) const;

  Topology topology_;
  std::vector<LayerCells> layers_;
};

// A class with fewer figures has no median of its own.
inline constexpr std::size_t kSmallClass = 4;

// A figure that was measured.
// Excludes NaN, infinities, 0 and negative figures.
inline bool usable(float value) {
  // False for NaN and for infinity.
  return value > 0 && value <= std::numeric_limits<float>::max();
}

// The medians inside a leaf and across leaves, in the layer's unit; 0: no figure at all.
std::array<double, 2> centres_of(const Layer& layer, const Topology& topology);

// The scatter of one figure, as a share of its class's centre.
double noise_of(const Layer& layer, const Topology& topology, const std::array<double, 2>& centres);

// The value of which `share` of the others lie below; reorders them. They must be finite and not
// be none.
double quantile(std::vector<float>& values, double share);

}  // namespace railgauge::localise
