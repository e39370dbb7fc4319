#include "controller/localise/localise_cells.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

namespace railgauge::localise {

Topology::Topology(const PairData& data) : nodes(data.nodes.size()) {
  const std::size_t leaves = data.leaf_of.empty() ? 0 : data.leaves.size();
  members.resize(leaves + 1);
  leaf_of.assign(nodes, static_cast<std::int32_t>(leaves));
  for (std::size_t node = 0; node < nodes; ++node) {
    if (!data.leaf_of.empty() && data.leaf_of[node] >= 0) leaf_of[node] = data.leaf_of[node];
    members[static_cast<std::size_t>(leaf_of[node])].push_back(static_cast<std::int32_t>(node));
  }
  if (members.back().empty()) members.pop_back();
  for (std::size_t leaf = 0; leaf < members.size(); ++leaf)
    nameable.push_back(leaf < leaves && members[leaf].size() >= 2);
  has_leaves = std::ranges::count(nameable, true) >= 2;
}

// Levels and noise first: a bin is relative to both.
Cells::Cells(const PairData& data, const Options& options, const Centres& centres,
             const std::vector<double>& noise)
    : topology_(data) {
  for (const Layer& layer : data.layers) {
    LayerCells& cells = layers_.emplace_back();
    cells.rail = layer.rail;
    cells.memory = layer.memory;
    cells.centre = centres.empty() ? centres_of(layer, topology_) : centres[layers_.size() - 1];
    cells.noise =
        noise.empty() ? noise_of(layer, topology_, cells.centre) : noise[layers_.size() - 1];
    cells.noise = std::max({cells.noise, options.least_noise, layer.repeat_noise});
    fill(layer, data.model, cells);
  }
}

double Cells::expected(std::size_t layer, std::int32_t from, std::int32_t to) const {
  const bool inside = topology_.leaf_of[static_cast<std::size_t>(from)] ==
                      topology_.leaf_of[static_cast<std::size_t>(to)];
  return layers_[layer].centre[inside ? 0 : 1];
}

// Updates every sum that holds the cell by the difference of the two bins.
void Cells::put(std::size_t layer, std::int32_t from, std::int32_t to, std::uint8_t bin) {
  LayerCells& cells = layers_[layer];
  const auto row = static_cast<std::size_t>(from);
  const auto column = static_cast<std::size_t>(to);
  std::uint8_t& cell = cells.bins[row * topology_.nodes + column];
  Sums change{};
  if (bin != kNoFigure) change += bin_sums(bin);
  if (cell != kNoFigure) change -= bin_sums(cell);
  cell = bin;
  cells.all += change;
  cells.sends[row] += change;
  cells.receives[column] += change;
  cells.blocks[static_cast<std::size_t>(topology_.leaf_of[row]) * topology_.members.size() +
               static_cast<std::size_t>(topology_.leaf_of[column])] += change;
}

// The passes over every figure, of which there are millions: written so that the compiler can take
// many at once. Sums of a few thousand bins are whole numbers; a bin's deviation and its square are
// whole multiples of powers of two, so that no order of adding changes a sum.

namespace {

// A bin's middle is (2 bin + 1 - 2 kZeroBin) half bins from what is expected.
constexpr std::int32_t kHalfBinsToZero = 2 * kZeroBin - 1;
constexpr double kHalfBin = kBinWidth / 2;

// How many bins, from the lowest, `holds` is true of.
template <class Holds>
constexpr std::int32_t bins_where(Holds holds) {
  std::int32_t bins = 0;
  while (holds(bin_sums(static_cast<std::uint8_t>(bins)))) ++bins;
  return bins;
}
constexpr std::int32_t kLowBins = bins_where([](const Sums& one) { return one.low > 0; });
constexpr std::int32_t kBoundBins = bins_where([](const Sums& one) { return one.bound > 0; });

// Sums over figures, in figures, half bins and their squares. Four thousand nodes' fit 32 bits.
struct Whole {
  std::int32_t count = 0;
  std::int32_t low = 0;
  std::int32_t half_bins = 0;
  std::int32_t squares = 0;
  [[nodiscard]] Sums sums() const {
    return {.count = static_cast<double>(count),
            .low = static_cast<double>(low),
            .sum = half_bins * kHalfBin,
            .bound = squares * kHalfBin * kHalfBin / 2};
  }
};

// One figure's. In 16 bits, for twice as many at once.
struct One {
  std::int16_t count, low, half_bins, square;
  explicit One(std::uint8_t bin)
      : count(bin != kNoFigure ? 1 : 0),
        low(bin < kLowBins ? 1 : 0),
        half_bins(static_cast<std::int16_t>(bin != kNoFigure ? 2 * bin - kHalfBinsToZero : 0)),
        square(static_cast<std::int16_t>(bin < kBoundBins ? half_bins * half_bins : 0)) {}
};
static_assert(kHalfBinsToZero * kHalfBinsToZero <= std::numeric_limits<std::int16_t>::max());

// By column, over the rows of one leaf.
struct Columns {
  std::vector<std::int32_t> count, low, half_bins, squares;
  void clear(std::size_t n) {
    for (auto* column : {&count, &low, &half_bins, &squares}) column->assign(n, 0);
  }
  [[nodiscard]] Sums sums(std::size_t at) const {
    return Whole{
        .count = count[at], .low = low[at], .half_bins = half_bins[at], .squares = squares[at]}
        .sums();
  }
};

// From a figure to its bin: bin = figure * per_unit - scale + kZeroBin, within the bins.
struct Scale {
  // Bins per unit of a figure, inside a leaf and across leaves.
  float inside = 0;
  float across = 0;
  // Number of bins from 0 to the expected figure.
  float one = 0;
};

// Bins of one row. Branch-free, so that the compiler vectorises it.
void bin_row(std::span<const float> values, std::span<const std::int32_t> leaf_of,
             std::int32_t leaf, const Scale& scale, std::uint8_t* bins) {
  for (std::size_t to = 0; to < values.size(); ++to) {
    const bool is_there = usable(values[to]);
    // NaN would not convert to a byte; the last line replaces its bin.
    const float value = is_there ? values[to] : 0;
    float at = value * (leaf_of[to] == leaf ? scale.inside : scale.across) - scale.one + kZeroBin;
    at = at > 0 ? at : 0;
    at = at < kBins - 1.0F ? at : kBins - 1.0F;
    bins[to] = static_cast<std::uint8_t>(is_there ? static_cast<std::int32_t>(at) : kNoFigure);
  }
}

// Adds one row to the sums by column. Plain pointers let the compiler vectorise the four updates.
void add_to_columns(std::span<const std::uint8_t> bins, Columns& columns) {
  std::int32_t* const count = columns.count.data();
  std::int32_t* const low = columns.low.data();
  std::int32_t* const half_bins = columns.half_bins.data();
  std::int32_t* const squares = columns.squares.data();
  for (std::size_t to = 0; to < bins.size(); ++to) {
    const One one(bins[to]);
    count[to] += one.count;
    low[to] += one.low;
    half_bins[to] += one.half_bins;
    squares[to] += one.square;
  }
}

// Folded into a few columns, in `folded`'s memory, and these then added up.
Sums sums_of_row(std::span<const std::uint8_t> bins, Columns& folded) {
  constexpr std::size_t kWidth = 128;
  folded.clear(kWidth);
  for (std::size_t at = 0; at < bins.size(); at += kWidth)
    add_to_columns(bins.subspan(at, std::min(kWidth, bins.size() - at)), folded);
  const auto total = [](const std::vector<std::int32_t>& parts) {
    return std::accumulate(parts.begin(), parts.end(), 0);
  };
  return Whole{.count = total(folded.count),
               .low = total(folded.low),
               .half_bins = total(folded.half_bins),
               .squares = total(folded.squares)}
      .sums();
}

using BinCounts = std::array<std::uint32_t, 256>;

// Histogram of the bins.
void count_bins(std::span<const std::uint8_t> bins, BinCounts& counts) {
  // Most figures lie in a few bins: side by side, or each would wait for the one before.
  std::array<BinCounts, 4> lanes{};
  std::size_t at = 0;
  for (; at + 4 <= bins.size(); at += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) ++lanes[lane][bins[at + lane]];
  for (; at < bins.size(); ++at) ++lanes[0][bins[at]];
  for (const BinCounts& lane : lanes)
    for (std::size_t bin = 0; bin < counts.size(); ++bin) counts[bin] += lane[bin];
}

// Where half of them lie below, in deviations.
double middle_of(const BinCounts& counts, double all) {
  double below = 0;
  std::size_t bin = 0;
  while (below + counts[bin] < all / 2) below += counts[bin++];
  const double part = (all / 2 - below) / counts[bin];
  return (static_cast<double>(bin) + part - kZeroBin) * kBinWidth;
}

}  // namespace

void Cells::fill(const Layer& layer, Model model, LayerCells& cells) const {
  const std::size_t n = topology_.nodes;
  const std::size_t leaves = topology_.members.size();
  cells.bins.assign(n * n, kNoFigure);
  cells.sends.assign(n, {});
  cells.receives.assign(n, {});
  cells.blocks.assign(leaves * leaves, {});
  if (cells.centre[0] <= 0) return;
  const double sign = model == Model::kMinimum ? 1 : -1;
  const auto one = static_cast<float>(sign / (cells.noise * kBinWidth));
  const Scale scale{.inside = one / static_cast<float>(cells.centre[0]),
                    .across = one / static_cast<float>(cells.centre[1]),
                    .one = one};
  const std::span values(layer.values);
  const std::span bins(cells.bins);
  Columns columns;
  Columns folded;
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    columns.clear(n);
    for (const std::int32_t member : topology_.members[leaf]) {
      const auto from = static_cast<std::size_t>(member);
      const auto row = bins.subspan(from * n, n);
      bin_row(values.subspan(from * n, n), topology_.leaf_of, static_cast<std::int32_t>(leaf),
              scale, row.data());
      row[from] = kNoFigure;
      add_to_columns(row, columns);
      cells.sends[from] = sums_of_row(row, folded);
      cells.all += cells.sends[from];
    }
    for (std::size_t to = 0; to < n; ++to) {
      const Sums received = columns.sums(to);
      cells.receives[to] += received;
      cells.blocks[leaf * leaves + static_cast<std::size_t>(topology_.leaf_of[to])] += received;
    }
  }
}

// From histograms of the bins: a median of the figures themselves would need a copy of them.
Cells::Centres Cells::centres(Model model) const {
  const double sign = model == Model::kMinimum ? 1 : -1;
  Centres centres;
  for (const LayerCells& cells : layers_) {
    std::array<BinCounts, 2> counts{};
    count_bins(cells.bins, counts[1]);
    for (std::size_t from = 0; from < topology_.nodes; ++from)
      for (const std::int32_t to :
           topology_.members[static_cast<std::size_t>(topology_.leaf_of[from])])
        ++counts[0][cells.bins[from * topology_.nodes + static_cast<std::size_t>(to)]];
    centres.push_back(cells.centre);
    for (std::size_t bin = 0; bin < counts[0].size(); ++bin) counts[1][bin] -= counts[0][bin];
    for (std::size_t c = 0; c < 2; ++c) {
      double all = 0;
      for (std::size_t bin = 0; bin < kBins; ++bin) all += counts[c][bin];
      if (all >= kSmallClass)
        centres.back()[c] *= 1 + sign * middle_of(counts[c], all) * cells.noise;
    }
  }
  return centres;
}

}  // namespace railgauge::localise
