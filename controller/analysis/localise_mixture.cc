#include "controller/analysis/localise_mixture.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace railgauge::localise {
namespace {

constexpr int kSteps = 25;  // of expectation and maximisation: enough for two digits

struct Histogram {
  std::array<double, kBins> count{};
  double rest = 0;       // mean deviation of the layer's other figures
  double per_share = 0;  // deviations in a drop of 1
};

std::vector<Histogram> histograms_of(const Cells& cells, const LayerSet& set,
                                     const Element& element) {
  std::vector<Histogram> histograms;
  for (const std::size_t layer : set.layers) {
    Histogram& histogram = histograms.emplace_back();
    histogram.per_share = 1 / cells.layers()[layer].noise;
    // Where hardly anything else is left, what most of its own figures show is what to expect.
    const Sums own = sums_of(cells, layer, element);
    if (cells.layers()[layer].all.count > 1.2 * own.count)
      histogram.rest = rest_mean(cells, layer, own);
    visit_pairs(cells.topology(), element, [&](std::int32_t from, std::int32_t to) {
      if (const std::uint8_t bin = cells.bin(layer, from, to); bin != kNoFigure)
        ++histogram.count[bin];
    });
  }
  return histograms;
}

// One step of the fit; the weight is that of the values that came in.
Mixture step(const std::vector<Histogram>& histograms, const Mixture& now) {
  Mixture next;
  double slow = 0;
  double top = 0;
  double bottom = 0;
  for (const Histogram& histogram : histograms) {
    const double shift = now.drop * histogram.per_share;
    for (int bin = 0; bin < kBins; ++bin) {
      const double count = histogram.count[static_cast<std::size_t>(bin)];
      if (count == 0) continue;
      const double z = deviation_of(bin) - histogram.rest;
      const double ratio = now.share * std::exp(-z * shift - shift * shift / 2);
      const double likelihood = 1 - now.share + ratio;
      const double part = count * ratio / likelihood;
      next.weight += count * std::log(likelihood);
      next.tasks += count;
      slow += part;
      top -= part * z * histogram.per_share;
      bottom += part * histogram.per_share * histogram.per_share;
    }
  }
  next.share = next.tasks > 0 ? slow / next.tasks : 0;
  next.drop = bottom > 0 ? top / bottom : 0;
  return next;
}

// Where to begin: what is low, and how low.
Mixture start(const std::vector<Histogram>& histograms) {
  double low = 0;
  double all = 0;
  double drop = 0;
  for (const Histogram& histogram : histograms)
    for (int bin = 0; bin < kBins; ++bin) {
      const double count = histogram.count[static_cast<std::size_t>(bin)];
      const double z = deviation_of(bin) - histogram.rest;
      all += count;
      if (z >= kLowDeviation) continue;
      low += count;
      drop -= count * z / histogram.per_share;
    }
  if (low == 0) return {};
  return {.drop = drop / low, .share = std::clamp(low / all, 1e-4, 0.95)};
}

std::size_t above_zero(const std::vector<double>& counts) {
  return static_cast<std::size_t>(std::ranges::count_if(counts, [](double n) { return n > 0; }));
}

}  // namespace

Mixture mixture_of(const Cells& cells, const LayerSet& set, const Element& element) {
  const std::vector<Histogram> histograms = histograms_of(cells, set, element);
  Mixture now = start(histograms);
  if (now.share == 0) return {};
  for (int i = 0; i < kSteps; ++i) {
    const Mixture next = step(histograms, now);
    now.share = next.share;
    now.drop = next.drop;
  }
  const Mixture last = step(histograms, now);
  now.weight = last.weight;
  now.tasks = last.tasks;
  return now;
}

Census census_of(const Cells& cells, const LayerSet& set, const Element& element, double drop) {
  const Topology& topology = cells.topology();
  std::vector<double> senders(topology.nodes);
  std::vector<double> receivers(topology.nodes);
  std::vector<double> leaves(topology.members.size());
  Census census;
  for (const std::size_t layer : set.layers) {
    const LayerCells& of = cells.layers()[layer];
    Sums own = sums_of(cells, layer, element);
    if (element.kind == Kind::kPair) own = {};
    const double edge = rest_mean(cells, layer, own) - drop / of.noise / 2;
    visit_pairs(topology, element, [&](std::int32_t from, std::int32_t to) {
      const std::uint8_t bin = cells.bin(layer, from, to);
      if (bin == kNoFigure) return;
      ++census.tasks;
      if (deviation_of(bin) >= edge) return;
      ++census.slow;
      ++senders[static_cast<std::size_t>(from)];
      ++receivers[static_cast<std::size_t>(to)];
      ++leaves[static_cast<std::size_t>(topology.leaf_of[static_cast<std::size_t>(from)])];
      ++leaves[static_cast<std::size_t>(topology.leaf_of[static_cast<std::size_t>(to)])];
    });
  }
  census.slow_senders = above_zero(senders);
  census.slow_receivers = above_zero(receivers);
  census.slow_leaves = std::max<std::size_t>(above_zero(leaves), 1) - 1;
  double largest = 0;
  for (std::size_t node = 0; node < topology.nodes; ++node) {
    const double both = senders[node] + receivers[node];
    largest = std::max(largest, both);
    if (both > 0 && static_cast<std::int32_t>(node) != element.first) ++census.slow_partners;
  }
  if (census.slow > 0) census.largest_share = largest / census.slow;
  return census;
}

}  // namespace railgauge::localise
