#include "controller/plan/rounds/pair_schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "controller/plan/rounds/factorisation.h"
#include "kernels/core/base/result.h"

namespace railgauge::plan {
namespace {

using Nodes = std::vector<std::uint32_t>;

// A factorisation and which node sits at each of its positions.
struct Arranged {
  std::unique_ptr<Factorisation> factors;
  Nodes nodes;
};

// What is split into groups, from far to near.
enum class Tier : std::uint8_t { kPods, kLeaves, kWithin };

class Builder {
 public:
  explicit Builder(std::span<const LeafPlace> places)
      : places_(places), next_nobody_(static_cast<std::uint32_t>(places.size())) {}

  // `nodes` is even in number; those beyond the places are nobody.
  Arranged build(Nodes nodes, Tier tier) {
    if (tier == Tier::kWithin)
      return {std::make_unique<Circle>(static_cast<std::uint32_t>(nodes.size())), std::move(nodes)};
    const Tier nearer = tier == Tier::kPods ? Tier::kLeaves : Tier::kWithin;
    std::vector<Nodes> groups = split(nodes, tier);
    if (groups.size() == 1) return build(std::move(nodes), nearer);
    if (auto filled = equal_groups(groups)) {
      if (filled->front().size() % 2 == 0) return even_groups(std::move(*filled), nearer);
      if (filled->size() % 2 == 0) return odd_groups(std::move(*filled), nearer);
    }
    if (groups.size() == nodes.size()) return build(std::move(nodes), nearer);  // one node each
    std::vector<Nodes> halves = cut(std::move(groups), nodes.size() / 2);
    return nodes.size() / 2 % 2 == 0 ? even_groups(std::move(halves), tier)
                                     : odd_groups(std::move(halves), tier);
  }

  std::uint32_t nobody() { return next_nobody_++; }

 private:
  [[nodiscard]] bool is_nobody(std::uint32_t node) const { return node >= places_.size(); }

  // In the order of their numbers; each nobody is a group of its own, at the end.
  [[nodiscard]] std::vector<Nodes> split(const Nodes& nodes, Tier tier) const {
    std::map<std::uint32_t, Nodes> groups;
    std::vector<Nodes> out;
    for (const std::uint32_t node : nodes)
      if (!is_nobody(node))
        groups[tier == Tier::kPods ? places_[node].pod : places_[node].leaf].push_back(node);
    out.reserve(groups.size());
    for (auto& [key, group] : groups) out.push_back(std::move(group));
    const bool one = out.size() == 1;
    for (const std::uint32_t node : nodes)
      if (is_nobody(node) && one)
        out.front().push_back(node);
      else if (is_nobody(node))
        out.push_back({node});
    return out;
  }

  // The groups of one size, nobodies filling the smallest; nothing where that does not work out.
  [[nodiscard]] std::optional<std::vector<Nodes>> equal_groups(std::vector<Nodes> groups) const {
    Nodes spare;
    while (!groups.empty() && is_nobody(groups.back().front())) {
      spare.push_back(groups.back().front());
      groups.pop_back();
    }
    if (groups.empty()) return std::nullopt;
    const std::size_t size = std::ranges::max(groups, {}, &Nodes::size).size();
    for (Nodes& group : groups)
      while (group.size() < size && !spare.empty()) {
        group.push_back(spare.back());
        spare.pop_back();
      }
    const bool equal = spare.empty() && std::ranges::all_of(groups, [size](const Nodes& group) {
                         return group.size() == size;
                       });
    return equal ? std::optional(std::move(groups)) : std::nullopt;
  }

  Arranged even_groups(std::vector<Nodes> groups, Tier tier) {
    std::vector<std::unique_ptr<Factorisation>> factors;
    Nodes nodes;
    for (Nodes& group : groups) {
      Arranged one = build(std::move(group), tier);
      factors.push_back(std::move(one.factors));
      nodes.insert(nodes.end(), one.nodes.begin(), one.nodes.end());
    }
    return {std::make_unique<EvenGroups>(std::move(factors)), std::move(nodes)};
  }

  Arranged odd_groups(std::vector<Nodes> groups, Tier tier) {
    std::vector<OddGroups::Group> parts;
    Nodes nodes;
    for (Nodes& group : groups) {
      const std::uint32_t over = nobody();
      group.push_back(over);
      Arranged one = build(std::move(group), tier);
      const auto place = std::ranges::find(one.nodes, over);
      parts.push_back({.factors = std::move(one.factors),
                       .nobody = static_cast<std::uint32_t>(place - one.nodes.begin())});
      one.nodes.erase(place);
      nodes.insert(nodes.end(), one.nodes.begin(), one.nodes.end());
    }
    return {std::make_unique<OddGroups>(std::move(parts)), std::move(nodes)};
  }

  // Two halves, along the borders of groups where their sizes add up; else one group is cut.
  static std::vector<Nodes> cut(std::vector<Nodes> groups, std::size_t half) {
    // The group by which a sum was reached first; sums of earlier groups lead there.
    constexpr std::size_t kNone = SIZE_MAX;
    std::vector<std::size_t> reached(half + 1, kNone);
    std::size_t highest = 0;
    for (std::size_t g = 0; g < groups.size() && reached[half] == kNone; ++g) {
      const std::size_t size = groups[g].size();
      for (std::size_t sum = std::min(half, highest + size); sum >= size; --sum)
        if (reached[sum] == kNone && (sum == size || reached[sum - size] != kNone)) {
          reached[sum] = g;
          highest = std::max(highest, sum);
        }
    }
    std::size_t sum = half;
    while (sum > 0 && reached[sum] == kNone) --sum;
    std::vector<bool> in_first(groups.size(), false);
    for (std::size_t left = sum; left > 0; left -= groups[reached[left]].size())
      in_first[reached[left]] = true;
    std::vector<Nodes> halves(2);
    std::size_t missing = half - sum;
    const auto add = [](Nodes& to, Nodes::const_iterator from, Nodes::const_iterator until) {
      to.insert(to.end(), from, until);
    };
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (in_first[g]) add(halves[0], groups[g].begin(), groups[g].end());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (in_first[g]) continue;
      // Any that is not in has more than is missing, or it would be in.
      const auto middle = groups[g].begin() + static_cast<std::ptrdiff_t>(missing);
      add(halves[0], groups[g].begin(), middle);
      add(halves[1], middle, groups[g].end());
      missing = 0;
    }
    return halves;
  }

  std::span<const LeafPlace> places_;
  std::uint32_t next_nobody_;
};

}  // namespace

PairSchedule::PairSchedule(std::span<const LeafPlace> places)
    : nodes_(static_cast<std::uint32_t>(places.size())) {
  if (nodes_ < 2) return;
  Builder builder(places);
  Nodes nodes(nodes_);
  std::iota(nodes.begin(), nodes.end(), 0U);
  if (nodes_ % 2 != 0) nodes.push_back(builder.nobody());
  rounds_ = nodes.size() - 1;
  Arranged arranged = builder.build(std::move(nodes), Tier::kPods);
  factors_ = std::move(arranged.factors);
  arrangement_ = std::move(arranged.nodes);
}

void PairSchedule::pairs(std::size_t round, std::vector<NodePair>& out) const {
  RG_CHECK(round < rounds_);
  out.clear();
  factors_->append(static_cast<std::uint32_t>(round), out);
  for (NodePair& pair : out) {
    const std::uint32_t a = arrangement_[pair.first];
    const std::uint32_t b = arrangement_[pair.second];
    pair = {std::min(a, b), std::max(a, b)};
  }
  if (nodes_ % 2 != 0)
    std::erase_if(out, [this](const NodePair& pair) { return pair.second >= nodes_; });
}

}  // namespace railgauge::plan
