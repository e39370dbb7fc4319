#include "controller/plan/rounds/pair_rounds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "controller/plan/rounds/seeded.h"
#include "kernels/core/base/result.h"

namespace railgauge::plan {
namespace {

// Places of the members, in their order.
std::vector<LeafPlace> places_of(std::span<const std::uint32_t> members,
                                 std::span<const LeafPlace> places) {
  std::vector<LeafPlace> out;
  out.reserve(members.size());
  for (const std::uint32_t node : members) out.push_back(places[node]);
  return out;
}

// The groups alone, in the order of their keys.
std::vector<std::vector<std::uint32_t>> groups_in(
    std::map<std::uint32_t, std::vector<std::uint32_t>>&& by_key) {
  std::vector<std::vector<std::uint32_t>> out;
  for (auto& [key, nodes] : by_key) out.push_back(std::move(nodes));
  return out;
}

// The pair with its lower number first.
NodePair in_order(std::uint32_t a, std::uint32_t b) { return {std::min(a, b), std::max(a, b)}; }

}  // namespace

NestedSource::NestedSource(std::vector<std::uint32_t> members, std::span<const LeafPlace> places)
    : members_(std::move(members)), schedule_(places_of(members_, places)) {}

void NestedSource::pairs(std::size_t round, std::vector<NodePair>& out) const {
  schedule_.pairs(round, out);
  for (NodePair& pair : out) pair = in_order(members_[pair.first], members_[pair.second]);
}

ParallelSource::ParallelSource(const std::vector<std::vector<std::uint32_t>>& groups,
                               std::span<const LeafPlace> places) {
  groups_.reserve(groups.size());
  for (const auto& group : groups) {
    groups_.emplace_back(group, places);
    rounds_ = std::max(rounds_, groups_.back().rounds());
  }
}

// A group with fewer rounds is idle in the later ones.
void ParallelSource::pairs(std::size_t round, std::vector<NodePair>& out) const {
  out.clear();
  std::vector<NodePair> part;
  for (const NestedSource& group : groups_) {
    if (round >= group.rounds()) continue;
    group.pairs(round, part);
    out.insert(out.end(), part.begin(), part.end());
  }
}

// Meetings of kinds follow a round robin of the kinds; each takes as many rounds as the larger kind
// has nodes.
KindSource::KindSource(std::vector<std::vector<std::uint32_t>> kinds,
                       std::span<const LeafPlace> places)
    : kinds_(std::move(kinds)), within_(kinds_, places), rounds_(within_.rounds()) {
  std::vector<LeafPlace> alike(kinds_.size());
  const PairSchedule meetings(alike);
  for (std::size_t turn = 0; turn < meetings.rounds(); ++turn) {
    Between between{.begin = rounds_, .kinds = {}};
    meetings.pairs(turn, between.kinds);
    std::size_t most = 0;
    for (const auto& [a, b] : between.kinds)
      most = std::max({most, kinds_[a].size(), kinds_[b].size()});
    rounds_ += most;
    between_.push_back(std::move(between));
  }
}

// Between two kinds each round shifts the larger kind by one node.
void KindSource::pairs(std::size_t round, std::vector<NodePair>& out) const {
  if (round < within_.rounds()) return within_.pairs(round, out);
  out.clear();
  const auto after = std::ranges::upper_bound(between_, round, {}, &Between::begin);
  const Between& between = *std::prev(after);
  const std::size_t shift = round - between.begin;
  for (const auto& [a, b] : between.kinds) {
    const bool a_is_fewer = kinds_[a].size() <= kinds_[b].size();
    const auto& fewer = a_is_fewer ? kinds_[a] : kinds_[b];
    const auto& more = a_is_fewer ? kinds_[b] : kinds_[a];
    if (shift >= more.size()) continue;
    for (std::size_t i = 0; i < fewer.size(); ++i)
      out.push_back(in_order(fewer[i], more[(i + shift) % more.size()]));
  }
}

// Even and odd edges alternate; the closing edge of an odd ring has a round of its own.
std::vector<std::vector<NodePair>> ring_of(std::span<const std::uint32_t> order) {
  std::vector<std::vector<NodePair>> rounds;
  const std::size_t n = order.size();
  if (n < 2) return rounds;
  if (n == 2) return {{in_order(order[0], order[1])}};
  rounds.resize(n % 2 == 0 ? 2 : 3);
  for (std::size_t i = 0; i < n; ++i) {
    const bool closes_odd = n % 2 != 0 && i + 1 == n;
    rounds[closes_odd ? 2 : i % 2].push_back(in_order(order[i], order[(i + 1) % n]));
  }
  return rounds;
}

// Node i meets node i of the second half.
std::vector<std::vector<NodePair>> halves_of(std::span<const std::uint32_t> order) {
  const std::size_t half = order.size() / 2;
  if (half == 0) return {};
  std::vector<std::vector<NodePair>> rounds(1);
  // With an odd number the one in the middle is left over.
  for (std::size_t i = 0; i < half; ++i)
    rounds.front().push_back(in_order(order[i], order[order.size() - half + i]));
  return rounds;
}

// Leaves in the order of their numbers.
std::vector<std::vector<std::uint32_t>> by_leaf(std::span<const std::uint32_t> members,
                                                std::span<const LeafPlace> places) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> leaves;
  for (const std::uint32_t node : members)
    if (places[node].leaf != LeafPlace::kUnknown) leaves[places[node].leaf].push_back(node);
  return groups_in(std::move(leaves));
}

namespace {

// Sets of distance classes are bit masks.
constexpr std::uint32_t bit_of(DistanceClass distance) {
  return 1U << static_cast<std::uint32_t>(distance);
}
// Masks of the classes that `leaves: within`, `across` and `any` keep.
constexpr std::uint32_t kWithinLeaf = bit_of(DistanceClass::kLeaf);
constexpr std::uint32_t kAcross = bit_of(DistanceClass::kPod) | bit_of(DistanceClass::kFabric);
constexpr std::uint32_t kAny = kWithinLeaf | kAcross | bit_of(DistanceClass::kUnknown);
// Share of bad nodes for which the note of a quick scan states the false suspects.
constexpr double kToldBadShare = 0.01;

// The distance classes that a placement's `leaves` keeps.
std::uint32_t classes_of(Placement::Leaves leaves) {
  return leaves == Placement::Leaves::kWithin   ? kWithinLeaf
         : leaves == Placement::Leaves::kAcross ? kAcross
                                                : kAny;
}

// Node numbers by kind of hardware.
std::vector<std::vector<std::uint32_t>> by_kind(std::span<const std::uint32_t> kinds) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
  for (std::uint32_t node = 0; node < kinds.size(); ++node) groups[kinds[node]].push_back(node);
  return groups_in(std::move(groups));
}

// The source of a placement's unfiltered rounds.
std::unique_ptr<PairSource> source_of(const Placement& placement, const PairInput& input,
                                      std::vector<std::uint32_t> members) {
  switch (placement.pairs) {
    case PairChoice::kRing:
      return std::make_unique<ListedSource>(ring_of(input.order));
    case PairChoice::kHalves:
      return std::make_unique<ListedSource>(halves_of(input.order));
    case PairChoice::kFile:
    case PairChoice::kPartners:
      return std::make_unique<ListedSource>(
          std::vector<std::vector<NodePair>>(input.listed.begin(), input.listed.end()));
    case PairChoice::kAll:
      if (auto kinds = by_kind(input.kinds); kinds.size() > 1)
        return std::make_unique<KindSource>(std::move(kinds), input.places);
      break;
    case PairChoice::kQuick:
      break;
  }
  // A scan that asks for no leaf is to meet any node with the same chance.
  const std::vector<LeafPlace> alike(input.places.size());
  const bool nested =
      placement.pairs == PairChoice::kAll || placement.leaves != Placement::Leaves::kAny;
  return std::make_unique<NestedSource>(std::move(members),
                                        nested ? input.places : std::span<const LeafPlace>(alike));
}

}  // namespace

// The matchings are random and independent.
double expected_false_suspects(std::size_t nodes, double bad_share, std::uint32_t matchings) {
  return static_cast<double>(nodes) * std::pow(bad_share, matchings);
}

Result<PairRounds> PairRounds::make(const Placement& placement, const PairInput& input) {
  PairRounds rounds(input);
  RG_TRY_OK(rounds.fill(placement, input));
  return rounds;
}

// Order of the steps: source, filter by class, matchings, slice, absent nodes.
Status PairRounds::fill(const Placement& placement, const PairInput& input) {
  const bool by_leaves = placement.leaves != Placement::Leaves::kAny;
  const bool any_known = std::ranges::any_of(
      places_, [](const LeafPlace& place) { return place.leaf != LeafPlace::kUnknown; });
  if (by_leaves && !any_known)
    return fail(Code::kInvalidArgument,
                "leaves: within and across want a topology with the nodes' leaves; name one "
                "in the site profile");
  std::vector<std::uint32_t> members(places_.size());
  std::iota(members.begin(), members.end(), 0U);
  const bool quick = placement.pairs == PairChoice::kQuick;
  if (quick) Seeded(input.seed).shuffle(members);
  const std::uint32_t classes = classes_of(placement.leaves);
  const bool complete = quick || placement.pairs == PairChoice::kAll;
  const PairSource* within = nullptr;
  // Leaves side by side would put pairs of one kind of hardware into a round with pairs between
  // two.
  const bool by_kinds = placement.pairs == PairChoice::kAll && by_kind(input.kinds).size() > 1;
  if (complete && !by_kinds && (classes == kWithinLeaf || placement.strict_class)) {
    const auto leaves = by_leaf(members, places_);
    within = &add(std::make_unique<ParallelSource>(leaves, places_));
  }
  if (within != nullptr && classes == kWithinLeaf) {
    add_rounds(*within, kWithinLeaf);
  } else {
    const PairSource& base = add(source_of(placement, input, std::move(members)));
    add_rounds(base, classes);
    if (placement.strict_class)
      add_strict_rounds(within == nullptr ? base : *within, base, classes);
  }
  if (quick) take_matchings(placement, input);
  if (placement.slice_of > 1) take_slice(placement, input);
  if (rounds_.empty()) return fail(Code::kInvalidArgument, "the placement leaves no pair of nodes");
  if (!numbers_.empty()) leave_out_absent();
  return {};
}

// Keeps the source alive as long as its rounds.
const PairSource& PairRounds::add(std::unique_ptr<PairSource> source) {
  return *sources_.emplace_back(std::move(source));
}

// Adds the source's rounds that have pairs of these classes.
void PairRounds::add_rounds(const PairSource& source, std::uint32_t classes) {
  std::vector<NodePair> pairs;
  for (std::uint32_t index = 0; index < source.rounds(); ++index) {
    source.pairs(index, pairs);
    Round round{.source = &source, .index = index, .classes = classes};
    count(pairs, round);
    if (round.info.pairs == 0) continue;
    round.by_class = round.info.pairs != pairs.size();
    round.info.whole = !round.by_class;
    rounds_.push_back(round);
  }
}

// Counts the pairs of the round's classes and finds the distance of most of them.
void PairRounds::count(std::span<const NodePair> pairs, Round& round) const {
  Counts counts{};
  for (const auto& [a, b] : pairs)
    ++counts[static_cast<std::size_t>(distance_of(places_[a], places_[b]))];
  round.info.pairs = 0;
  std::size_t most = 0;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    if ((round.classes >> c & 1U) == 0) continue;
    round.info.pairs += counts[c];
    if (counts[c] > counts[most] || most == 0) most = counts[c] > 0 ? c : most;
  }
  round.info.distance = static_cast<DistanceClass>(most);
  round.info.mixed = counts[most] != round.info.pairs;
}

// Replaces mixed rounds: first the pairs of each leaf side by side, then, class by class, each
// round's pairs of that class. Without mixed rounds, changes nothing.
void PairRounds::add_strict_rounds(const PairSource& within, const PairSource& base,
                                   std::uint32_t classes) {
  const std::size_t before = rounds_.size();
  if (std::ranges::none_of(rounds_, [](const Round& round) { return round.info.mixed; })) return;
  rounds_.clear();
  for (const DistanceClass distance :
       {DistanceClass::kLeaf, DistanceClass::kPod, DistanceClass::kFabric, DistanceClass::kUnknown})
    if ((classes & bit_of(distance)) != 0)
      add_rounds(distance == DistanceClass::kLeaf ? within : base, bit_of(distance));
  for (Round& round : rounds_) round.info.whole = false;
  notes_.push_back(
      fmt::format("strict_class: {} rounds of one distance each, {} more than the {} "
                  "that mixed ones would take",
                  rounds_.size(), rounds_.size() - before, before));
}

// Keeps the fullest rounds; equally full ones in random order.
void PairRounds::take_matchings(const Placement& placement, const PairInput& input) {
  Seeded(input.seed + 1).shuffle(rounds_);
  std::ranges::stable_sort(rounds_, std::ranges::greater{},
                           [](const Round& round) { return round.info.pairs; });
  if (rounds_.size() > placement.matchings) rounds_.resize(placement.matchings);
  notes_.push_back(fmt::format(
      "quick scan: {} random matchings (seed {}); when {:g} % of the nodes are bad, {:.2g} good "
      "ones are expected to meet bad ones only, and want the retest",
      rounds_.size(), input.seed, kToldBadShare * 100,
      expected_false_suspects(places_.size(), kToldBadShare,
                              static_cast<std::uint32_t>(rounds_.size()))));
}

// Keeps every slice_of-th round, so that each slice has pairs of each distance. Consecutive slices
// cover all rounds once while nodes and topology stay. There are at most as many slices as rounds,
// so none is empty.
void PairRounds::take_slice(const Placement& placement, const PairInput& input) {
  const std::size_t all = rounds_.size();
  const std::size_t slices = std::min<std::size_t>(placement.slice_of, all);
  if (slices < 2) return;
  const std::size_t which = placement.slice.value_or(input.slice_index) % slices;
  std::vector<Round> slice;
  for (std::size_t i = which; i < all; i += slices) slice.push_back(rounds_[i]);
  rounds_ = std::move(slice);
  notes_.push_back(
      fmt::format("slice {} of {}: {} of {} rounds", which + 1, slices, rounds_.size(), all));
}

bool PairRounds::is_kept(const Round& round, const NodePair& pair) const {
  const auto distance = distance_of(places_[pair.first], places_[pair.second]);
  return (round.classes & bit_of(distance)) != 0;
}

bool PairRounds::is_there(const NodePair& pair) const {
  return numbers_[pair.first] != kNotThere && numbers_[pair.second] != kNotThere;
}

// Runs after take_slice(): rounds and slices are laid out over all nodes, present or not.
void PairRounds::leave_out_absent() {
  const auto away = static_cast<std::size_t>(std::ranges::count(numbers_, kNotThere));
  if (away == 0) return;
  std::size_t before = 0;
  std::size_t after = 0;
  std::vector<NodePair> pairs;
  for (Round& round : rounds_) {
    before += round.info.pairs;
    round.source->pairs(round.index, pairs);
    std::erase_if(pairs, [this](const NodePair& pair) { return !is_there(pair); });
    count(pairs, round);
    after += round.info.pairs;
  }
  std::erase_if(rounds_, [](const Round& round) { return round.info.pairs == 0; });
  notes_.push_back(
      fmt::format("laid out over {} nodes, of which {} take no part now: {} of {} pairs are left "
                  "out, until their slice comes again",
                  numbers_.size(), away, before - after, before));
}

void PairRounds::pairs(std::size_t round, std::vector<NodePair>& out) const {
  unordered_pairs(round, out);
  std::ranges::sort(out);
}

// Filters the round of the source and translates numbers.
void PairRounds::unordered_pairs(std::size_t round, std::vector<NodePair>& out) const {
  const Round& chosen = rounds_[round];
  chosen.source->pairs(chosen.index, out);
  if (chosen.by_class)
    std::erase_if(out, [&](const NodePair& pair) { return !is_kept(chosen, pair); });
  if (numbers_.empty()) return;
  std::erase_if(out, [this](const NodePair& pair) { return !is_there(pair); });
  for (NodePair& pair : out) pair = std::minmax({numbers_[pair.first], numbers_[pair.second]});
}

}  // namespace railgauge::plan
