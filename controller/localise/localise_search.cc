#include "controller/localise/localise_search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "controller/localise/localise_elements.h"

namespace railgauge::localise {

namespace {

// Share of an element's tasks that must be slow for a steady fault.
constexpr double kSteadyShare = 0.6;
// Above this share of slow tasks an element counts as steady.
constexpr double kMostIntermittent = 0.9;
constexpr double kLeastIntermittentOfNode = 0.15;
// Least share of slow tasks of a group: a little less than one of 64 spines.
constexpr double kLeastIntermittentOfGroup = 0.01;
constexpr double kLeastMixtureDrop = 0.025;
// Least number of slow tasks of an intermittent element.
constexpr double kLeastSlowTasks = 4;
// Price of the second fitted number, in log likelihood.
constexpr double kMixturePrice = 5;
constexpr double kMixtureAdvantage =
    // Over a steady one, or the noise is just not as thought.
    1.05;
constexpr std::size_t kMostTried = 400;

// An element with one hypothesis: steady, or slow sometimes.
struct Candidate {
  Element element{};
  const LayerSet* set = nullptr;
  double price = 0;
  // Weight minus price; for a mixture an upper bound of it.
  double score = 0;
  double drop = 0;
};

// All elements of many pairs, each with how many of its kind there are.
template <class Visit>
void for_each_element(const Topology& topology, const LayerSet& set, Visit visit) {
  constexpr std::array kDirections{Direction::kBoth, Direction::kSends, Direction::kReceives};
  const auto count = [](std::size_t n) { return std::log(3.0 * static_cast<double>(n)); };
  const Kind kind = set.rail >= 0 ? Kind::kPort : Kind::kNode;
  for (std::size_t node = 0; node < topology.nodes; ++node)
    for (const Direction direction : kDirections)
      visit(Element{.kind = kind,
                    .first = static_cast<std::int32_t>(node),
                    .rail = set.rail,
                    .memory = set.memory,
                    .direction = direction},
            count(topology.nodes));
  // A switch does not know whose memory the bytes come from.
  if (!topology.has_leaves || !set.memory.empty()) return;
  const std::size_t leaves = topology.members.size();
  for (std::size_t a = 0; a < leaves; ++a) {
    if (!topology.nameable[a]) continue;
    Element leaf{.kind = Kind::kLeaf, .first = static_cast<std::int32_t>(a), .rail = set.rail};
    for (const Direction direction : kDirections) {
      leaf.direction = direction;
      for (const Kind part : {Kind::kLeaf, Kind::kUplink}) {
        leaf.kind = part;
        visit(leaf, count(leaves));
      }
    }
    leaf.kind = Kind::kTrunk;
    for (std::size_t b = 0; b < leaves; ++b) {
      if (a == b || !topology.nameable[b]) continue;
      leaf.second = static_cast<std::int32_t>(b);
      leaf.direction = Direction::kSends;
      visit(leaf, count(leaves * leaves));
      leaf.direction = Direction::kBoth;
      if (a < b) visit(leaf, count(leaves * leaves));
    }
  }
  visit(Element{.kind = Kind::kSpine, .rail = set.rail}, 1.0);
}

// Two tasks that share nothing but the element: another partner each.
bool independent(const Element& element, const Census& census, std::size_t least) {
  if (is_of_node(element)) return census.slow_partners >= least;
  return census.slow_senders >= least && census.slow_receivers >= least;
}

// Checks task by task what the sums suggest: most tasks are slow, and with different partners.
bool holds_steady(const Cells& cells, const Candidate& candidate) {
  const Census census = census_of(cells, *candidate.set, candidate.element, candidate.drop);
  return census.slow >= kSteadyShare * census.tasks && independent(candidate.element, census, 2);
}

bool holds_sometimes(const Cells& cells, const Candidate& candidate, const Mixture& mixture,
                     const Options& options) {
  const bool node = is_of_node(candidate.element);
  const double least = node ? kLeastIntermittentOfNode : kLeastIntermittentOfGroup;
  if (mixture.drop < std::max(options.least_drop, kLeastMixtureDrop) || mixture.share < least ||
      mixture.share > kMostIntermittent || mixture.share * mixture.tasks < kLeastSlowTasks)
    return false;
  const Census census = census_of(cells, *candidate.set, candidate.element, mixture.drop);
  if (!independent(candidate.element, census, 3)) return false;
  // A flapping part is uneven over time, and rounds go from near to far: a node may well be uneven.
  return node || census.even;
}

// Collects all candidates by sums, then examines the best of them task by task. Sums give upper
// bounds, so that most candidates are never examined.
class Search {
 public:
  Search(const Cells& cells, const Options& options)
      : cells_(cells), options_(options), sets_(layer_sets(cells.layers())) {
    collect();
  }

  std::optional<Found> best() {
    take_steady();
    take_sometimes();
    return best_;
  }

 private:
  // The price of a candidate is the log of the number of alternatives, so that a healthy fabric is
  // accused with the chance of Options::false_accusation.
  void collect() {
    const double base =
        std::log(1 / options_.false_accusation) + std::log(static_cast<double>(sets_.size()));
    for (const LayerSet& set : sets_)
      for_each_element(cells_.topology(), set, [&](const Element& element, double count) {
        const double price = base + count;
        const Candidate candidate{.element = element, .set = &set, .price = price};
        add_steady(candidate);
        add_sometimes(candidate);
      });
    const auto by_score = [](const Candidate& a, const Candidate& b) { return a.score > b.score; };
    std::ranges::stable_sort(steady_, by_score);
    std::ranges::stable_sort(sometimes_, by_score);
  }

  void add_steady(Candidate candidate) {
    // One of several spines never carries all pairs.
    if (candidate.element.kind == Kind::kSpine) return;
    const Shift shift = shift_of(cells_, *candidate.set, candidate.element);
    candidate.score = shift.weight - candidate.price;
    candidate.drop = shift.drop;
    if (shift.proof > candidate.price && shift.drop >= options_.least_drop)
      steady_.push_back(candidate);
  }

  void add_sometimes(Candidate candidate) {
    // A leaf switch of which some pairs are slow, near and far alike, is not known to exist; its
    // links to the spines differ from it by nothing but the few pairs inside.
    if (candidate.element.kind == Kind::kLeaf) return;
    candidate.price += kMixturePrice;
    const Sums sums = sums_of(cells_, candidate.set->layers, candidate.element);
    candidate.score = sums.bound - candidate.price;
    if (candidate.score <= 0) return;
    // A healthy set has 0.6 % below; a drop of one deviation already 7 %.
    const double least = is_of_node(candidate.element) ? 0.02 : 0.009;
    if (sums.low >= 3 && sums.low > least * sums.count) sometimes_.push_back(candidate);
  }

  // Takes the first candidate by score whose tasks confirm it.
  void take_steady() {
    std::size_t tried = 0;
    for (const Candidate& candidate : steady_) {
      if (++tried > kMostTried) return;
      if (!holds_steady(cells_, candidate)) continue;
      best_ = Found{.element = candidate.element,
                    .layers = candidate.set->layers,
                    .weight = candidate.score + candidate.price,
                    .score = candidate.score,
                    .drop = candidate.drop};
      return;
    }
  }

  // A mixture replaces the steady candidate only when it scores clearly higher.
  void take_sometimes() {
    std::size_t tried = 0;
    for (const Candidate& candidate : sometimes_) {
      const double least = best_ ? best_->score * (best_->share < 1 ? 1 : kMixtureAdvantage) : 0;
      if (candidate.score <= least || ++tried > kMostTried) return;
      const Mixture mixture = mixture_of(cells_, *candidate.set, candidate.element);
      const double score = mixture.weight - candidate.price;
      const bool node = is_of_node(candidate.element);
      if (score <= least || (!node && mixture.proof <= candidate.price) ||
          !holds_sometimes(cells_, candidate, mixture, options_))
        continue;
      best_ = Found{.element = candidate.element,
                    .layers = candidate.set->layers,
                    .weight = mixture.weight,
                    .score = score,
                    .drop = mixture.drop,
                    .share = mixture.share};
      best_->element.intermittent = true;
    }
  }

  const Cells& cells_;
  const Options& options_;
  std::vector<LayerSet> sets_;
  std::vector<Candidate> steady_;
  std::vector<Candidate> sometimes_;
  std::optional<Found> best_;
};

}  // namespace

std::optional<Found> best_element(const Cells& cells, const Options& options) {
  return Search(cells, options).best();
}

namespace {

// Deviations below which a single pair is examined.
constexpr double kLowPair = -3.5;
// Beyond, the fabric is no set of single faults.
constexpr std::size_t kMostLowPairs = 200'000;
// Fewest figures that show the level of an end with other partners.
constexpr double kLeastOfEnd = 8;
// Standard errors from which on a slow rail is reported.
constexpr double kClearRail = 6;
// The same for few nodes: their standard errors are uncertain, and hosts bend them.
constexpr double kClearRailOfFew = 12;

// The first bin that does not count as low.
std::uint8_t low_edge() { return static_cast<std::uint8_t>(kZeroBin + kLowPair / kBinWidth); }

constexpr std::size_t kAtOnce = 64;

// Reports whether kAtOnce bins are all at or above the edge. A plain minimum, which the compiler
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
