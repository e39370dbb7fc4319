// The search among few nodes: declared in localise_search.h. Each found node is removed with all
// its figures, and the search repeats until nothing is significant.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "controller/localise/localise_elements.h"
#include "controller/localise/localise_nodes.h"
#include "controller/localise/localise_search.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::localise {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
// Factor on the chance of a confirmed finding, up to which a finding is listed.
constexpr double kListed = 5;
constexpr double kSamePart =
    // A layer, or the other direction, has the fault too from this share of the largest drop on.
    0.5;
// Share of a node's figures that must be slow by half of its drop.
constexpr double kSlowShare = 0.6;
constexpr double kLeastDegrees = 2;

// The combined estimate of a set's layers: means of logarithms of shares of the expected value,
// where less is worse.
std::vector<double> together(const PairData& data, const Cells& cells,
                             const std::vector<std::size_t>& layers) {
  const std::size_t n = data.nodes.size();
  const double sign = data.model == Model::kMinimum ? 1 : -1;
  std::vector<double> sums(n * n, 0);
  std::vector<double> counts(n * n, 0);
  for (const std::size_t layer : layers)
    for (std::size_t from = 0; from < n; ++from)
      for (std::size_t to = 0; to < n; ++to) {
        const float value = data.layers[layer].values[from * n + to];
        if (from == to || !std::isfinite(value) || value <= 0) continue;
        const double expected =
            cells.expected(layer, static_cast<std::int32_t>(from), static_cast<std::int32_t>(to));
        sums[from * n + to] += sign * std::log(value / expected);
        ++counts[from * n + to];
      }
  for (std::size_t at = 0; at < sums.size(); ++at)
    sums[at] = counts[at] > 0 ? sums[at] / counts[at] : kNone;
  return sums;
}

// From an effect in logarithms to a drop, in the direction of the model.
double drop_of(double effect, Model model) {
  return model == Model::kMinimum ? 1 - std::exp(-effect) : std::exp(effect) - 1;
}

// The floor under the noise of a set's figures that the samples within points give.
double repeat_noise(const PairData& data, const std::vector<std::size_t>& layers,
                    const Options& options) {
  double noise = options.least_noise;
  for (const std::size_t layer : layers) noise = std::max(noise, data.layers[layer].repeat_noise);
  return noise;
}

// The most significant side of a node among all layer sets.
struct Best {
  NodeEffect effect{};
  const LayerSet* set = nullptr;
  // That healthy nodes give as much, all candidates counted.
  double chance = 1;
};

// State of one search; `rest_` loses the figures of each found node.
class FewSearch {
 public:
  FewSearch(const PairData& data, const Options& options) : options_(options), rest_(data) {}

  FewFindings find() {
    FewFindings found;
    while (found.nodes.size() < options_.max_suspects) {
      const Cells cells(rest_, options_);
      const std::vector<LayerSet> sets = layer_sets(cells.layers());
      const std::optional<Best> best = best_of(cells, sets);
      if (!best) break;
      Found one = found_from(cells, *best);
      forget(one);
      found.nodes.push_back(std::move(one));
    }
    const Cells cells(rest_, options_);
    for (std::size_t layer = 0; layer < rest_.layers.size(); ++layer)
      found.noise.push_back(spread_of(cells, layer));
    add_pairs(cells, found);
    found.rest = std::move(rest_);
    return found;
  }

 private:
  // Bonferroni over nodes, directions and layer sets gives the chance.
  std::optional<Best> best_of(const Cells& cells, const std::vector<LayerSet>& sets) const {
    Best best;
    for (const LayerSet& set : sets) {
      const std::vector<double> values = together(rest_, cells, set.layers);
      const std::vector<NodeEffect> effects =
          node_effects(values, rest_.nodes.size(), repeat_noise(rest_, set.layers, options_));
      const double tests = 2 * static_cast<double>(rest_.nodes.size() * sets.size());
      for (const NodeEffect& effect : effects) {
        if (drop_of(effect.effect, rest_.model) < options_.least_drop) continue;
        const double chance = tests * chance_of(effect.t, effect.degrees);
        if (effect.degrees >= kLeastDegrees && chance < best.chance)
          best = {.effect = effect, .set = &set, .chance = chance};
      }
    }
    if (best.set == nullptr || best.chance > kListed * options_.few_false_accusation) return {};
    return best;
  }

  // Returns how far the side is below the others on one layer; 0 when that is unknown.
  double effect_on(const Cells& cells, std::size_t layer, const NodeEffect& of) const {
    const std::vector<double> values = together(rest_, cells, {layer});
    double sum = 0;
    double count = 0;
    for (const NodeEffect& each : node_effects(values, rest_.nodes.size(), 0)) {
      if (each.node != of.node) continue;
      if (each.direction == of.direction || each.direction == Direction::kBoth) return each.effect;
      sum += each.effect;
      ++count;
    }
    return of.direction == Direction::kBoth && count > 0 ? sum / count : 0;
  }

  // A part is of the layers that have its drop: of its rail alone, of one kind of memory alone.
  Found found_from(const Cells& cells, const Best& best) const {
    std::vector<double> effects;
    double most = 0;
    for (std::size_t layer = 0; layer < rest_.layers.size(); ++layer) {
      effects.push_back(effect_on(cells, layer, best.effect));
      most = std::max(most, drop_of(effects.back(), rest_.model));
    }
    std::vector<std::size_t> layers;
    for (std::size_t layer = 0; layer < effects.size(); ++layer)
      if (most > 0 && drop_of(effects[layer], rest_.model) >= kSamePart * most)
        layers.push_back(layer);
    const std::vector<LayerSet> sets = layer_sets(cells.layers());
    const auto same =
        std::ranges::find_if(sets, [&](const LayerSet& s) { return s.layers == layers; });
    const LayerSet& set = same == sets.end() ? *best.set : *same;
    Found found{.layers = set.layers};
    found.element = {.kind = set.rail >= 0 ? Kind::kPort : Kind::kNode,
                     .first = best.effect.node,
                     .rail = set.rail,
                     .memory = set.memory,
                     .direction = best.effect.direction};
    double sum = 0;
    for (const std::size_t layer : set.layers) sum += effects[layer];
    found.drop = drop_of(sum / static_cast<double>(set.layers.size()), rest_.model);
    found.weight = weight_of(best.chance);
    found.score = found.weight;
    found.confirmed = best.chance <= options_.few_false_accusation && fails_twice(cells, found);
    if (!found.confirmed)
      found.doubt =
          "not clear of what these few nodes differ by, so nothing is called bad; measure it again";
    return found;
  }

  // The level of the other nodes among themselves: with few figures half may be the node's.
  double median_without(const std::vector<double>& values, std::int32_t node) const {
    const std::size_t n = rest_.nodes.size();
    const auto out = static_cast<std::size_t>(node);
    std::vector<double> others;
    for (std::size_t at = 0; at < values.size(); ++at)
      if (std::isfinite(values[at]) && at / n != out && at % n != out) others.push_back(values[at]);
    return upper_median(others);
  }

  // Two tasks that share nothing but the node were slow, and most of its tasks were.
  bool fails_twice(const Cells& cells, const Found& found) const {
    std::vector<bool> partners(rest_.nodes.size(), false);
    double tasks = 0;
    double slow = 0;
    for (const std::size_t layer : found.layers) {
      const std::vector<double> values = together(rest_, cells, {layer});
      const double usual = median_without(values, found.element.first);
      visit_pairs(cells.topology(), found.element, [&](std::int32_t from, std::int32_t to) {
        const double value = values[static_cast<std::size_t>(from) * rest_.nodes.size() +
                                    static_cast<std::size_t>(to)];
        if (!std::isfinite(value)) return;
        ++tasks;
        if (drop_of(usual - value, rest_.model) < found.drop / 2) return;
        ++slow;
        partners[static_cast<std::size_t>(from == found.element.first ? to : from)] = true;
      });
    }
    return std::ranges::count(partners, true) >= 2 && slow >= kSlowShare * tasks;
  }

  // The node's figures in the other direction are left out too: acknowledgements and credits of a
  // slow side slow the other one as well, a little.
  void forget(const Found& found) {
    const std::size_t n = rest_.nodes.size();
    const auto first = static_cast<std::size_t>(found.element.first);
    for (const std::size_t layer : found.layers)
      for (std::size_t other = 0; other < n; ++other)
        for (const auto& [from, to] : {std::pair(first, other), std::pair(other, first)})
          rest_.layers[layer].values[from * n + to] = std::numeric_limits<float>::quiet_NaN();
  }

  // The deviation of one figure, with the difference between hosts in it.
  double spread_of(const Cells& cells, std::size_t layer) const {
    double count = 0;
    double sum = 0;
    double squares = 0;
    for (const double value : together(rest_, cells, {layer})) {
      if (!std::isfinite(value)) continue;
      ++count;
      sum += value;
      squares += value * value;
    }
    // Too few to separate from noise.
    if (count < 3) return 1;
    const double spread = std::sqrt(std::max(0.0, squares - sum * sum / count) / (count - 1));
    return std::max(spread, repeat_noise(rest_, {layer}, options_));
  }

  // Single pairs that are slow although no node explains them. Layer sets of one rail only.
  void add_pairs(const Cells& cells, FewFindings& found) const {
    for (const LayerSet& set : layer_sets(cells.layers())) {
      if (set.rail < 0 || !set.memory.empty()) continue;
      const std::vector<double> values = together(rest_, cells, set.layers);
      const std::vector<PairEffect> effects =
          pair_effects(values, rest_.nodes.size(), repeat_noise(rest_, set.layers, options_));
      for (const PairEffect& effect : effects) {
        const double chance =
            static_cast<double>(effects.size()) * chance_of(effect.t, effect.degrees);
        const double drop = drop_of(effect.effect, rest_.model);
        if (chance > options_.few_false_accusation || drop < options_.least_path_drop) continue;
        found.pairs.push_back(pair_of(cells, set, effect, drop, chance));
      }
    }
    std::ranges::stable_sort(found.pairs,
                             [](const Found& a, const Found& b) { return a.weight > b.weight; });
  }

  // A pair is confirmed when two of its tasks are slow.
  Found pair_of(const Cells& cells, const LayerSet& set, const PairEffect& effect, double drop,
                double chance) const {
    Found found{.element = {.kind = Kind::kPair,
                            .first = effect.from,
                            .second = effect.to,
                            .rail = set.rail,
                            .direction = Direction::kSends},
                .layers = set.layers,
                .weight = weight_of(chance),
                .drop = drop};
    double slow = 0;
    for (const std::size_t layer : set.layers) {
      const std::vector<double> values = together(rest_, cells, {layer});
      const double value = values[static_cast<std::size_t>(effect.from) * rest_.nodes.size() +
                                  static_cast<std::size_t>(effect.to)];
      if (std::isfinite(value) && drop_of(-value, rest_.model) >= kSamePart * drop) ++slow;
    }
    found.score = found.weight;
    found.confirmed = slow >= 2;
    return found;
  }

  const Options& options_;
  PairData rest_;
};

}  // namespace

FewFindings find_few(const PairData& data, const Options& options) {
  return FewSearch(data, options).find();
}

}  // namespace railgauge::localise
