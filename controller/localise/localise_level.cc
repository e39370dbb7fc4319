#include "controller/localise/localise_cells.h"

#include <algorithm>
#include <cmath>

namespace railgauge::localise {
namespace {

// Figures for a median or a quartile: within 1 % of it.
constexpr std::size_t kSampled = 20'000;
// The lower quartile of |x - y| of two figures, in deviations of one. It holds even where most
// neighbours in a row differ because a fault is between them.
constexpr double kQuartileOfDifference = 0.45062;
// With few differences their quartile may be far too small by chance.
constexpr double kCautionOfFew = 4;
// Buckets of the quantile's radix step; one of them is sorted.
constexpr std::size_t kBuckets = 4'096;

// Every step-th row; all of a small matrix.
std::size_t row_step(std::size_t nodes) {
  return std::max<std::size_t>(1, nodes * nodes / (4 * kSampled));
}

// 0 inside a leaf, 1 across leaves.
std::size_t class_of(const Topology& topology, std::size_t from, std::size_t to) {
  return topology.leaf_of[from] == topology.leaf_of[to] ? 0 : 1;
}

// How figures that follow each other on one line differ, by class: a slow sender, receiver or leaf
// is in both and cancels out.
class Differences {
 public:
  Differences(const Topology& topology, const std::array<double, 2>& centres)
      : topology_(topology),
        centres_{static_cast<float>(centres[0]), static_cast<float>(centres[1])} {}

  void add(std::array<float, 2>& last, std::size_t from, std::size_t to, float value) {
    if (from == to || !usable(value)) return;
    const std::size_t c = class_of(topology_, from, to);
    if (last[c] > 0) values_.push_back(std::abs(value - last[c]) / centres_[c]);
    last[c] = value;
  }
  // With fewer than two nothing separates figures from noise.
  double noise() {
    if (values_.size() < 2) return 1;
    const double caution = 1 + kCautionOfFew / std::sqrt(static_cast<double>(values_.size()));
    return quantile(values_, 0.25) / kQuartileOfDifference * caution;
  }

 private:
  const Topology& topology_;
  std::array<float, 2> centres_;
  std::vector<float> values_;
};

constexpr std::array<float, 2> kNoneYet{-1, -1};

// Along rows, where the sender is the same, so that a slow sender cancels out, or along columns.
// All columns at once, row by row: down one column each figure is a cache line of its own.
double noise_along(bool rows, const Layer& layer, const Topology& topology,
                   const std::array<double, 2>& centres) {
  const std::size_t n = topology.nodes;
  const std::size_t step = row_step(n);
  Differences differences(topology, centres);
  std::vector<std::array<float, 2>> last(n, kNoneYet);
  for (std::size_t from = 0; from < n; from += rows ? step : 1)
    for (std::size_t to = 0; to < n; to += rows ? 1 : step)
      differences.add(last[rows ? from : to], from, to, layer.values[from * n + to]);
  return differences.noise();
}

}  // namespace

// A counting pass finds the bucket of the quantile; nth_element then works on this bucket alone.
double quantile(std::vector<float>& values, double share) {
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  const auto [least, most] = std::ranges::minmax(values);
  const float scale = static_cast<float>(kBuckets - 1) / (most - least);
  std::size_t before = 0;
  // Only the bucket that holds it is put in order; rounding keeps the order of buckets.
  if (values.size() > kBuckets && std::isfinite(scale)) {
    std::array<std::uint32_t, kBuckets + 1> counts{};
    const auto bucket_of = [least = least, scale](float value) {
      return static_cast<std::size_t>((value - least) * scale);
    };
    for (const float value : values) ++counts[bucket_of(value)];
    std::size_t bucket = 0;
    while (before + counts[bucket] <= rank) before += counts[bucket++];
    std::erase_if(values, [&](float value) { return bucket_of(value) != bucket; });
  }
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank - before);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// A class with too few figures takes the median of all of them, or that of the other class.
std::array<double, 2> centres_of(const Layer& layer, const Topology& topology) {
  const std::size_t n = topology.nodes;
  std::array<std::vector<float>, 2> values;
  for (std::size_t from = 0; from < n; from += row_step(n))
    for (std::size_t to = 0; to < n; ++to)
      if (const float value = layer.values[from * n + to]; from != to && usable(value))
        values[class_of(topology, from, to)].push_back(value);
  std::vector<float> all;
  if (std::max(values[0].size(), values[1].size()) < kSmallClass) {
    all = values[0];
    all.insert(all.end(), values[1].begin(), values[1].end());
  }
  std::array<double, 2> centres{};
  if (!all.empty()) centres.fill(quantile(all, 0.5));
  for (std::size_t c = 0; c < 2; ++c)
    if (values[c].size() >= kSmallClass) centres[c] = quantile(values[c], 0.5);
  for (std::size_t c = 0; c < 2; ++c)
    if (centres[c] == 0) centres[c] = centres[1 - c];
  return centres;
}

double noise_of(const Layer& layer, const Topology& topology,
                const std::array<double, 2>& centres) {
  const double rows = noise_along(true, layer, topology, centres);
  const double columns = noise_along(false, layer, topology, centres);
  // With few differences the lesser one is too small by chance.
  return topology.nodes <= kFewNodes ? std::max(rows, columns) : std::min(rows, columns);
}

}  // namespace railgauge::localise
