#include "controller/localise/localise_search.h"

#include <algorithm>
#include <cmath>

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
    candidate.score = bound_of(cells_, *candidate.set, candidate.element) - candidate.price;
    if (candidate.score <= 0) return;
    double low = 0;
    double count = 0;
    for (const std::size_t layer : candidate.set->layers) {
      const Sums sums = sums_of(cells_, layer, candidate.element);
      low += sums.low;
      count += sums.count;
    }
    // A healthy set has 0.6 % below; a drop of one deviation already 7 %.
    const double least = is_of_node(candidate.element) ? 0.02 : 0.009;
    if (low >= 3 && low > least * count) sometimes_.push_back(candidate);
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

}  // namespace railgauge::localise
