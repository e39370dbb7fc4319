#include "controller/analysis/localise_cells.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace railgauge::localise {
namespace {

constexpr std::size_t kSampled = 20'000;  // figures for a median or a quartile: within 1 % of it
// The lower quartile of |x - y| of two figures, in deviations of one. It stands even where most
// neighbours in a row differ because a fault lies between them.
constexpr double kQuartileOfDifference = 0.45062;
// With few differences their quartile may be far too small by chance.
constexpr double kCautionOfFew = 4;
constexpr std::size_t kSmallClass = 4;  // figures; smaller classes have no median of their own

std::array<Sums, kBins> make_bin_sums() {
  std::array<Sums, kBins> sums{};
  for (int bin = 0; bin < kBins; ++bin) {
    const double z = deviation_of(bin);
    sums[static_cast<std::size_t>(bin)] = {.count = 1,
                                           .low = z < kLowDeviation ? 1.0 : 0.0,
                                           .sum = z,
                                           .bound = z < -1 ? z * z / 2 : 0};
  }
  return sums;
}

double quantile(std::vector<float>& values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

bool usable(float value) { return std::isfinite(value) && value > 0; }

// Every step-th row; all of a small matrix.
std::size_t row_step(std::size_t nodes) {
  return std::max<std::size_t>(1, nodes * nodes / (4 * kSampled));
}

struct Classes {
  const Topology& topology;
  [[nodiscard]] std::size_t of(std::size_t from, std::size_t to) const {
    return topology.leaf_of[from] == topology.leaf_of[to] ? 0 : 1;
  }
};

std::array<double, 2> centres_of(const Layer& layer, const Topology& topology) {
  const Classes classes{topology};
  const std::size_t n = topology.nodes;
  std::array<std::vector<float>, 2> values;
  const std::size_t step = row_step(n);
  for (std::size_t from = 0; from < n; from += step)
    for (std::size_t to = 0; to < n; ++to)
      if (const float value = layer.values[from * n + to]; from != to && usable(value))
        values[classes.of(from, to)].push_back(value);
  std::array<double, 2> centres{};
  for (std::size_t c = 0; c < 2; ++c)
    if (values[c].size() >= kSmallClass) centres[c] = quantile(values[c], 0.5);
  for (std::size_t c = 0; c < 2; ++c)
    if (centres[c] == 0) centres[c] = centres[1 - c];
  if (centres[0] > 0) return centres;
  std::vector<float> all = values[0];
  all.insert(all.end(), values[1].begin(), values[1].end());
  if (!all.empty()) centres.fill(quantile(all, 0.5));
  return centres;
}

// Between figures that follow each other in a row (or column) and belong to one class: a slow
// sender, receiver or leaf is in both and cancels out. Absent: fewer than two such differences.
std::optional<double> noise_along(const Layer& layer, const Topology& topology,
                                  const std::array<double, 2>& centres, bool rows) {
  const Classes classes{topology};
  const std::size_t n = topology.nodes;
  std::vector<float> differences;
  const std::size_t step = row_step(n);
  for (std::size_t line = 0; line < n; line += step) {
    std::array<float, 2> last{-1, -1};
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t from = rows ? line : k;
      const std::size_t to = rows ? k : line;
      const float value = layer.values[from * n + to];
      if (from == to || !usable(value)) continue;
      const std::size_t c = classes.of(from, to);
      if (last[c] > 0)
        differences.push_back(std::abs(value - last[c]) / static_cast<float>(centres[c]));
      last[c] = value;
    }
  }
  if (differences.size() < 2) return {};
  const double caution = 1 + kCautionOfFew / std::sqrt(static_cast<double>(differences.size()));
  return quantile(differences, 0.25) / kQuartileOfDifference * caution;
}

double noise_of(const Layer& layer, const Topology& topology,
                const std::array<double, 2>& centres) {
  const double none = 1;  // two figures or fewer: nothing can be told from noise
  const double rows = noise_along(layer, topology, centres, true).value_or(none);
  const double columns = noise_along(layer, topology, centres, false).value_or(none);
  // Of few differences the lesser one is too small by chance.
  return topology.nodes <= kFewNodes ? std::max(rows, columns) : std::min(rows, columns);
}

}  // namespace

Sums& Sums::operator+=(const Sums& other) {
  count += other.count;
  low += other.low;
  sum += other.sum;
  bound += other.bound;
  return *this;
}

Sums& Sums::operator-=(const Sums& other) {
  count -= other.count;
  low -= other.low;
  sum -= other.sum;
  bound -= other.bound;
  return *this;
}

const Sums& bin_sums(std::uint8_t bin) {
  static const std::array<Sums, kBins> kSums = make_bin_sums();
  return kSums[bin];
}

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

Cells::Centres Cells::centres(Model model) const {
  const Classes classes{topology_};
  const double sign = model == Model::kMinimum ? 1 : -1;
  Centres centres;
  for (const LayerCells& cells : layers_) {
    std::array<std::array<double, kBins>, 2> counts{};
    std::array<double, 2> all{};
    for (std::size_t at = 0; at < cells.bins.size(); ++at) {
      if (cells.bins[at] == kNoFigure) continue;
      const std::size_t c = classes.of(at / topology_.nodes, at % topology_.nodes);
      ++counts[c][cells.bins[at]];
      ++all[c];
    }
    centres.push_back(cells.centre);
    for (std::size_t c = 0; c < 2; ++c) {
      if (all[c] < kSmallClass) continue;
      double below = 0;
      std::size_t bin = 0;
      while (below + counts[c][bin] < all[c] / 2) below += counts[c][bin++];
      const double part = (all[c] / 2 - below) / counts[c][bin];
      const double z = (static_cast<double>(bin) + part - kZeroBin) * kBinWidth;
      centres.back()[c] *= 1 + sign * z * cells.noise;
    }
  }
  return centres;
}

void Cells::fill(const Layer& layer, Model model, LayerCells& cells) const {
  const std::size_t n = topology_.nodes;
  const std::size_t leaves = topology_.members.size();
  cells.bins.assign(n * n, kNoFigure);
  cells.sends.assign(n, {});
  cells.receives.assign(n, {});
  cells.blocks.assign(leaves * leaves, {});
  if (cells.centre[0] <= 0) return;
  const double sign = model == Model::kMinimum ? 1 : -1;
  const float scale = static_cast<float>(sign / (cells.noise * kBinWidth));
  const std::array<float, 2> per_unit{scale / static_cast<float>(cells.centre[0]),
                                      scale / static_cast<float>(cells.centre[1])};
  for (std::size_t from = 0; from < n; ++from) {
    Sums& row = cells.sends[from];
    const std::int32_t leaf = topology_.leaf_of[from];
    Sums* const blocks = &cells.blocks[static_cast<std::size_t>(leaf) * leaves];
    for (std::size_t to = 0; to < n; ++to) {
      const float value = layer.values[from * n + to];
      if (!usable(value) || from == to) continue;
      const std::int32_t other = topology_.leaf_of[to];
      const float at = value * per_unit[leaf == other ? 0 : 1] - scale + kZeroBin;
      const auto bin = static_cast<std::uint8_t>(std::clamp(at, 0.0F, kBins - 1.0F));
      cells.bins[from * n + to] = bin;
      const Sums& one = bin_sums(bin);
      row += one;
      cells.receives[to] += one;
      blocks[other] += one;
    }
    cells.all += row;
  }
}

double Cells::expected(std::size_t layer, std::int32_t from, std::int32_t to) const {
  const Classes classes{topology_};
  return layers_[layer]
      .centre[classes.of(static_cast<std::size_t>(from), static_cast<std::size_t>(to))];
}

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

}  // namespace railgauge::localise
