#include "controller/localise/localise_elements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace railgauge::localise {
namespace {

// Indices of the layers with that rail (-1: any) and memory ("": any).
std::vector<std::size_t> layers_with(const std::vector<LayerCells>& layers, std::int32_t rail,
                                     const std::string& memory) {
  std::vector<std::size_t> found;
  for (std::size_t l = 0; l < layers.size(); ++l)
    if ((rail < 0 || layers[l].rail == rail) && (memory.empty() || layers[l].memory == memory))
      found.push_back(l);
  return found;
}

}  // namespace

std::vector<LayerSet> layer_sets(const std::vector<LayerCells>& layers) {
  std::set<std::int32_t> rails;
  std::set<std::string> memories;
  for (const LayerCells& layer : layers) {
    rails.insert(layer.rail);
    memories.insert(layer.memory);
  }
  std::vector<std::int32_t> choices(rails.begin(), rails.end());
  if (rails.size() > 1) choices.push_back(-1);
  std::vector<LayerSet> sets;
  for (const std::int32_t rail : choices) {
    sets.push_back({.rail = rail, .layers = layers_with(layers, rail, "")});
    const std::size_t all = sets.back().layers.size();
    for (const std::string& memory : memories)
      if (LayerSet set{.rail = rail, .memory = memory, .layers = layers_with(layers, rail, memory)};
          !set.layers.empty() && set.layers.size() < all)
        sets.push_back(std::move(set));
  }
  return sets;
}

Sums sums_of(const Cells& cells, std::size_t layer, const Element& element) {
  const LayerCells& of = cells.layers()[layer];
  const bool sends = element.direction != Direction::kReceives;
  const bool receives = element.direction != Direction::kSends;
  const auto first = static_cast<std::size_t>(element.first);
  const std::size_t leaves = cells.topology().members.size();
  Sums sums;
  switch (element.kind) {
    case Kind::kPort:
    case Kind::kNode:
      if (sends) sums += of.sends[first];
      if (receives) sums += of.receives[first];
      break;
    case Kind::kTrunk:
      if (sends) sums += cells.block(layer, first, static_cast<std::size_t>(element.second));
      if (receives) sums += cells.block(layer, static_cast<std::size_t>(element.second), first);
      break;
    case Kind::kLeaf:
    case Kind::kUplink:
      for (std::size_t other = 0; other < leaves; ++other) {
        if (other == first) continue;
        if (sends) sums += cells.block(layer, first, other);
        if (receives) sums += cells.block(layer, other, first);
      }
      if (element.kind == Kind::kLeaf) sums += cells.block(layer, first, first);
      break;
    case Kind::kSpine:
      sums += of.all;
      for (std::size_t leaf = 0; leaf < leaves; ++leaf) sums -= cells.block(layer, leaf, leaf);
      break;
    case Kind::kRail:
      sums += of.all;
      break;
    case Kind::kPair:
      break;
  }
  return sums;
}

Sums sums_of(const Cells& cells, std::span<const std::size_t> layers, const Element& element) {
  Sums sums;
  for (const std::size_t layer : layers) sums += sums_of(cells, layer, element);
  return sums;
}

double rest_mean(const Cells& cells, std::size_t layer, const Sums& own) {
  const Sums& all = cells.layers()[layer].all;
  const double count = all.count - own.count;
  return count > 0 ? (all.sum - own.sum) / count : 0;
}

// Weighted least squares: a figure counts by the inverse of its layer's squared noise.
Shift shift_of(const Cells& cells, const LayerSet& set, const Element& element) {
  double top = 0;
  double bottom = 0;
  double proof_top = 0;
  double proof_bottom = 0;
  for (const std::size_t layer : set.layers) {
    const Sums own = sums_of(cells, layer, element);
    const LayerCells& of = cells.layers()[layer];
    const double others = of.all.count - own.count;
    if (own.count <= 0 || others <= 0) continue;
    const double pull = own.count / of.noise;
    const double known = others / of.all.count;
    const double difference = own.sum / own.count - rest_mean(cells, layer, own);
    top += pull * difference;
    bottom += pull / of.noise;
    proof_top += pull * known * difference;
    proof_bottom += pull * known / of.noise;
  }
  if (top >= 0 || proof_top >= 0) return {};
  return {.weight = top * top / (2 * bottom),
          .proof = proof_top * proof_top / (2 * proof_bottom),
          .drop = -top / bottom};
}

namespace {

constexpr double kLeastSpread = 0.5;
// Chi-square a degree of freedom: hashes are not perfect.
constexpr double kMostUneven = 3;
constexpr double kUnevenDeviations = 5;
// Steps of expectation and maximisation: enough for two digits.
constexpr int kSteps = 25;

// Figures of an element on one layer, by bin.
struct Histogram {
  std::array<double, kBins> count{};
  // Mean deviation of the layer's other figures.
  double rest = 0;
  bool rest_known = false;
  // Deviations that a drop of 1 would make.
  double per_share = 0;
};

// One histogram for each layer of the set.
std::vector<Histogram> histograms_of(const Cells& cells, const LayerSet& set,
                                     const Element& element) {
  std::vector<Histogram> histograms;
  for (const std::size_t layer : set.layers) {
    Histogram& histogram = histograms.emplace_back();
    histogram.per_share = 1 / cells.layers()[layer].noise;
    // With hardly any other figures left, the expected figure is that of most of its own figures.
    const Sums own = sums_of(cells, layer, element);
    histogram.rest_known = cells.layers()[layer].all.count > 1.2 * own.count;
    if (histogram.rest_known) histogram.rest = rest_mean(cells, layer, own);
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

// Log likelihood that one bell wins over the expected one, by its width and, where nothing else
// says what to expect, its place: noise that was not judged well is no fault.
double wider_bell(const std::vector<Histogram>& histograms) {
  double weight = 0;
  for (const Histogram& histogram : histograms) {
    double n = 0;
    double sum = 0;
    double squares = 0;
    for (int bin = 0; bin < kBins; ++bin) {
      const double count = histogram.count[static_cast<std::size_t>(bin)];
      const double z = deviation_of(bin) - histogram.rest;
      n += count;
      sum += count * z;
      squares += count * z * z;
    }
    // Too few figures to fit a width.
    if (n < 8) continue;
    const double mean = histogram.rest_known ? 0 : sum / n;
    const double variance = std::max(squares / n - mean * mean, 0.01);
    weight += n / 2 * (squares / n - 1 - std::log(variance));
  }
  return weight;
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

// Tasks and slow ones of each node or pair of leaves.
struct Counts {
  std::vector<double> tasks;
  std::vector<double> slow;
  explicit Counts(std::size_t size) : tasks(size), slow(size) {}
  void add(std::size_t at, bool is_slow) {
    ++tasks[at];
    if (is_slow) ++slow[at];
  }
  [[nodiscard]] bool even(double share) const {
    double sum = 0;
    double spreads = 0;
    double counted = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const double spread = tasks[i] * share * (1 - share);
      // Too few tasks to decide.
      if (spread < kLeastSpread) continue;
      const double off = slow[i] - tasks[i] * share;
      sum += off * off / spread;
      spreads += spread;
      ++counted;
    }
    if (counted < 2) return true;
    // Chi-square's own spread, with what small counts add to it.
    const double chance = std::sqrt((2 + counted / spreads) / (counted - 1));
    return sum / (counted - 1) <= std::max(kMostUneven, 1 + kUnevenDeviations * chance);
  }
  [[nodiscard]] std::size_t nodes() const {
    return static_cast<std::size_t>(std::ranges::count_if(slow, [](double n) { return n > 0; }));
  }
};

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
  now.proof = last.weight - wider_bell(histograms);
  now.tasks = last.tasks;
  return now;
}

// A task is slow when it is nearer to the slow figure than to the mean of the rest.
Census census_of(const Cells& cells, const LayerSet& set, const Element& element, double drop) {
  const Topology& topology = cells.topology();
  const std::size_t leaves = topology.members.size();
  Counts senders(topology.nodes);
  Counts receivers(topology.nodes);
  Counts blocks(leaves * leaves);
  Census census;
  for (const std::size_t layer : set.layers) {
    const LayerCells& of = cells.layers()[layer];
    const double edge =
        rest_mean(cells, layer, sums_of(cells, layer, element)) - drop / of.noise / 2;
    visit_pairs(topology, element, [&](std::int32_t from, std::int32_t to) {
      const std::uint8_t bin = cells.bin(layer, from, to);
      if (bin == kNoFigure) return;
      const bool slow = deviation_of(bin) < edge;
      ++census.tasks;
      if (slow) ++census.slow;
      const auto row = static_cast<std::size_t>(from);
      const auto column = static_cast<std::size_t>(to);
      senders.add(row, slow);
      receivers.add(column, slow);
      blocks.add(static_cast<std::size_t>(topology.leaf_of[row]) * leaves +
                     static_cast<std::size_t>(topology.leaf_of[column]),
                 slow);
    });
  }
  census.slow_senders = senders.nodes();
  census.slow_receivers = receivers.nodes();
  for (std::size_t node = 0; node < topology.nodes; ++node)
    if (senders.slow[node] + receivers.slow[node] > 0 &&
        static_cast<std::int32_t>(node) != element.first)
      ++census.slow_partners;
  if (census.tasks == 0) return census;
  const double share = census.slow / census.tasks;
  census.even = senders.even(share) && receivers.even(share) && blocks.even(share);
  return census;
}

}  // namespace railgauge::localise
