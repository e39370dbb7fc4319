// Single pairs, and whole rails: what the search over elements of many pairs leaves.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "controller/localise/localise_elements.h"
#include "controller/localise/localise_search.h"

namespace railgauge::localise {
namespace {

// Deviations below which a single pair is examined.
constexpr double kLowPair = -3.5;
// Beyond, the fabric is no set of single faults.
constexpr std::size_t kMostLowPairs = 200'000;
// Figures that say what an end gives with others.
constexpr double kLeastOfEnd = 8;
// Standard errors from which on a slow rail is reported.
constexpr double kClearRail = 6;
// The same for few nodes: their standard errors are uncertain, and hosts bend them.
constexpr double kClearRailOfFew = 12;

// The first bin that does not count as low.
std::uint8_t low_edge() { return static_cast<std::uint8_t>(kZeroBin + kLowPair / kBinWidth); }

constexpr std::size_t kAtOnce = 64;

// Whether kAtOnce bins are all at or above the edge. A plain minimum, which the compiler
// vectorises.
bool none_below(const std::uint8_t* bins, std::uint8_t edge) {
  std::uint8_t least = kNoFigure;
  for (std::size_t i = 0; i < kAtOnce; ++i) least = std::min(least, bins[i]);
  return least >= edge;
}

// Pairs of which some figure on these layers is low, first < second.
std::set<std::pair<std::int32_t, std::int32_t>> low_pairs(const Cells& cells, const LayerSet& set) {
  std::set<std::pair<std::int32_t, std::int32_t>> pairs;
  const auto n = static_cast<std::int32_t>(cells.topology().nodes);
  const std::uint8_t edge = low_edge();
  for (const std::size_t layer : set.layers) {
    const auto& bins = cells.layers()[layer].bins;
    for (std::size_t at = 0; at < bins.size(); ++at) {
      // Hardly any is: most are passed over many at once.
      while (at + kAtOnce <= bins.size() && none_below(&bins[at], edge)) at += kAtOnce;
      if (at == bins.size() || bins[at] >= edge) continue;
      const auto from = static_cast<std::int32_t>(at) / n;
      const auto to = static_cast<std::int32_t>(at) % n;
      pairs.emplace(std::min(from, to), std::max(from, to));
      if (pairs.size() >= kMostLowPairs) return pairs;
    }
  }
  return pairs;
}

// The level of the ends with other partners, where that is less than the level of all: a pair of a
// node that is a little slow is no slow path.
double usual_of(const LayerCells& layer, double rest, std::int32_t from, std::int32_t to,
                double deviation) {
  double usual = rest;
  for (const Sums& end :
       {layer.sends[static_cast<std::size_t>(from)], layer.receives[static_cast<std::size_t>(to)]})
    if (end.count >= kLeastOfEnd) usual = std::min(usual, (end.sum - deviation) / (end.count - 1));
  return usual;
}

// How well one way (or both) of a pair explains its figures.
struct PairScore {
  double weight = 0;
  // Weight less its price.
  double score = 0;
  double drop = 0;
  bool confirmed = true;
};

PairScore score_of(const Cells& cells, const LayerSet& set, const Element& element, double price) {
  double top = 0;
  double bottom = 0;
  double slow = 0;
  for (const std::size_t layer : set.layers) {
    const double per_share = 1 / cells.layers()[layer].noise;
    const double rest = rest_mean(cells, layer, {});
    visit_pairs(cells.topology(), element, [&](std::int32_t from, std::int32_t to) {
      const std::uint8_t bin = cells.bin(layer, from, to);
      if (bin == kNoFigure) return;
      const double usual = usual_of(cells.layers()[layer], rest, from, to, deviation_of(bin));
      top += (deviation_of(bin) - usual) * per_share;
      bottom += per_share * per_share;
      slow += deviation_of(bin) < kLowDeviation ? 1 : 0;
    });
  }
  if (top >= 0 || bottom <= 0) return {};
  const double weight = top * top / (2 * bottom);
  return {.weight = weight, .score = weight - price, .drop = -top / bottom, .confirmed = slow >= 2};
}

// The best of: this way, that way, both. Absent where that is no slow path.
std::optional<Found> best_of_pair(const Cells& cells, const LayerSet& set, std::int32_t a,
                                  std::int32_t b, double price, double least_drop) {
  PairScore best;
  Element element{.kind = Kind::kPair, .rail = set.rail, .memory = set.memory};
  Element best_element;
  for (const auto& [first, second, direction] :
       {std::tuple{a, b, Direction::kBoth}, std::tuple{a, b, Direction::kSends},
        std::tuple{b, a, Direction::kSends}}) {
    element.first = first;
    element.second = second;
    element.direction = direction;
    const PairScore score = score_of(cells, set, element, price);
    if (score.score <= best.score) continue;
    best = score;
    best_element = element;
  }
  if (best.score <= 0 || best.drop < least_drop) return {};
  return Found{.element = best_element,
               .layers = set.layers,
               .weight = best.weight,
               .score = best.score,
               .drop = best.drop,
               .confirmed = best.confirmed};
}

}  // namespace

// Each rail and pair is reported once, with the best of its layer sets and directions.
std::vector<Found> slow_pairs(const Cells& cells, const Options& options) {
  const double n = static_cast<double>(cells.topology().nodes);
  // Rail and pair.
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, Found> best;
  const std::vector<LayerSet> sets = layer_sets(cells.layers());
  const double price = std::log(1 / options.false_accusation) +
                       std::log(1.5 * n * n * static_cast<double>(sets.size()));
  for (const LayerSet& set : sets) {
    if (set.rail < 0) continue;
    for (const auto& [a, b] : low_pairs(cells, set)) {
      std::optional<Found> found = best_of_pair(cells, set, a, b, price, options.least_path_drop);
      if (!found) continue;
      Found& known = best[{set.rail, a, b}];
      if (found->score > known.score) known = std::move(*found);
    }
  }
  std::vector<Found> pairs;
  pairs.reserve(best.size());
  for (auto& [key, found] : best) pairs.push_back(std::move(found));
  std::ranges::stable_sort(pairs,
                           [](const Found& x, const Found& y) { return x.weight > y.weight; });
  if (pairs.size() > options.max_suspects) pairs.resize(options.max_suspects);
  return pairs;
}

namespace {

// The level of one rail with one kind of memory, inside leaves or across.
struct Level {
  std::size_t layer = 0;
  double value = 0;
  // Number of figures.
  double count = 0;
};

// By memory and class, the levels of the rails.
std::map<std::pair<std::string, std::size_t>, std::vector<Level>> levels_of(const Cells& cells,
                                                                            Model model) {
  const double sign = model == Model::kMinimum ? 1 : -1;
  std::map<std::pair<std::string, std::size_t>, std::vector<Level>> levels;
  for (std::size_t l = 0; l < cells.layers().size(); ++l) {
    const LayerCells& layer = cells.layers()[l];
    std::array<Sums, 2> classes{};
    for (std::size_t leaf = 0; leaf < cells.topology().members.size(); ++leaf)
      classes[0] += cells.block(l, leaf, leaf);
    classes[1] = layer.all;
    classes[1] -= classes[0];
    for (std::size_t c = 0; c < 2; ++c)
      if (classes[c].count > 0)
        levels[{layer.memory, c}].push_back(
            {.layer = l,
             .value =
                 layer.centre[c] * (1 + sign * layer.noise * classes[c].sum / classes[c].count),
             .count = classes[c].count});
  }
  return levels;
}

// For a rail with one kind of memory.
struct RailDrop {
  // Sum of the drops, weighted by their number of figures.
  double top = 0;
  // Number of figures.
  double count = 0;
  // Log likelihood won over a rail as fast as the others.
  double weight = 0;
  std::vector<std::size_t> layers{};
};

}  // namespace

// Compares the levels of rails with one another for each memory kind, inside and across leaves; a
// rail's drop is the mean of these, weighted by figures.
std::vector<Found> slow_rails(const Cells& cells, Model model, const Options& options) {
  std::map<std::int32_t, std::map<std::string, RailDrop>> drops;
  for (auto& [key, levels] : levels_of(cells, model)) {
    if (levels.size() < 2) continue;
    std::vector<double> values;
    for (const Level& level : levels) values.push_back(level.value);
    std::ranges::sort(values);
    // The better half's worst: of two rails the better one is what the other should give.
    const double reference =
        model == Model::kMinimum ? values[values.size() / 2] : values[(values.size() - 1) / 2];
    for (const Level& level : levels) {
      const double drop =
          model == Model::kMinimum ? 1 - level.value / reference : level.value / reference - 1;
      const LayerCells& layer = cells.layers()[level.layer];
      RailDrop& rail = drops[layer.rail][layer.memory];
      rail.top += drop * level.count;
      rail.count += level.count;
      rail.weight += level.count * drop * drop / (2 * layer.noise * layer.noise);
      if (rail.layers.empty() || rail.layers.back() != level.layer)
        rail.layers.push_back(level.layer);
    }
  }
  const double clear = cells.topology().nodes <= kFewNodes ? kClearRailOfFew : kClearRail;
  std::vector<Found> found;
  for (const auto& [rail, memories] : drops) {
    std::vector<std::pair<std::string, const RailDrop*>> slow;
    for (const auto& [memory, drop] : memories)
      if (drop.top / drop.count >= options.least_drop && drop.weight > clear * clear / 2)
        slow.emplace_back(memory, &drop);
    if (slow.empty()) continue;
    Found one{.element = {.kind = Kind::kRail, .first = -1, .rail = rail}};
    if (slow.size() < memories.size()) one.element.memory = slow.front().first;
    double top = 0;
    double count = 0;
    for (const auto& [memory, drop] : slow) {
      top += drop->top;
      count += drop->count;
      one.weight += drop->weight;
      one.layers.insert(one.layers.end(), drop->layers.begin(), drop->layers.end());
    }
    one.score = one.weight;
    one.drop = top / count;
    one.confirmed = count >= 2;
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace railgauge::localise
