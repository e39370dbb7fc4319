#include "controller/plan/rounds/pair_schedule.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::plan {
namespace {

// The circle method: the last position stays, the others move on by one each round. In round r the
// last position meets position r.
class Circle final : public Factorisation {
 public:
  // `size` is even and at least 2: a programmer error otherwise.
  explicit Circle(std::uint32_t size) : size_(size) { RG_CHECK(size >= 2 && size % 2 == 0); }
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  // Position round + step meets position round - step, modulo the turning positions.
  void append(std::uint32_t round, std::vector<NodePair>& out) const override {
    const std::uint32_t turning = size_ - 1;
    out.emplace_back(round, turning);
    std::uint32_t left = round;
    std::uint32_t right = round;
    for (std::uint32_t step = 1; step <= turning / 2; ++step) {
      left = left + 1 == turning ? 0 : left + 1;
      right = right == 0 ? turning - 1 : right - 1;
      out.emplace_back(left, right);
    }
  }

 private:
  std::uint32_t size_;
};

// Groups of one even size, one after the other, each with a factorisation of its own: first the
// groups' rounds side by side, then rounds of pairs between groups alone.
class EvenGroups final : public Factorisation {
 public:
  // All groups have the same even size: a programmer error otherwise.
  explicit EvenGroups(std::vector<std::unique_ptr<Factorisation>> groups)
      : groups_(std::move(groups)),
        group_size_(groups_.front()->size()),
        halves_(static_cast<std::uint32_t>(2 * groups_.size())) {
    RG_CHECK(std::ranges::all_of(
        groups_, [this](const auto& group) { return group->size() == group_size_; }));
  }
  [[nodiscard]] std::uint32_t size() const override {
    return group_size_ * static_cast<std::uint32_t>(groups_.size());
  }
  // First the rounds within groups, then the shifts of each meeting of halves.
  void append(std::uint32_t round, std::vector<NodePair>& out) const override {
    if (round < group_size_ - 1) {
      std::uint32_t begin = 0;
      for (const auto& group : groups_) {
        const std::size_t first = out.size();
        group->append(round, out);
        for (std::size_t i = first; i < out.size(); ++i) {
          out[i].first += begin;
          out[i].second += begin;
        }
        begin += group_size_;
      }
      return;
    }
    const std::uint32_t half = group_size_ / 2;
    const std::uint32_t beyond = round - (group_size_ - 1);
    const std::uint32_t shift = beyond % half;
    std::vector<NodePair> meetings;
    // Turn 0 is both halves of each group: that was the groups' own rounds.
    halves_.append(1 + beyond / half, meetings);
    const auto count = static_cast<std::uint32_t>(groups_.size());
    const auto begin_of = [&](std::uint32_t j) {
      return j < count ? j * group_size_ : (2 * count - 1 - j) * group_size_ + half;
    };
    for (const auto& [a, b] : meetings) {
      const std::uint32_t left = begin_of(a);
      const std::uint32_t right = begin_of(b);
      for (std::uint32_t i = 0; i < half; ++i)
        out.emplace_back(left + i, right + (i + shift < half ? i + shift : i + shift - half));
    }
  }

 private:
  std::vector<std::unique_ptr<Factorisation>> groups_;
  std::uint32_t group_size_;
  // 2 for each group; j and 2G - 1 - j are of one group.
  Circle halves_;
};

// An even number of groups of one odd size g: each group's factorisation has one position more, for
// nobody. In the first g rounds whom a group leaves over meets who is left over in another group;
// the other rounds are between groups alone.
class OddGroups final : public Factorisation {
 public:
  struct Group {
    // Factorisation of g + 1 positions.
    std::unique_ptr<Factorisation> factors;
    // Position that has no node.
    std::uint32_t nobody;
  };
  // Records for each group and round which node has no partner within the group.
  explicit OddGroups(std::vector<Group> groups)
      : groups_(std::move(groups)),
        group_size_(groups_.front().factors->size() - 1),
        meetings_(static_cast<std::uint32_t>(groups_.size())) {
    std::vector<NodePair> pairs;
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      RG_CHECK(groups_[g].factors->size() == group_size_ + 1);
      std::vector<std::uint32_t>& over = left_over_.emplace_back();
      const std::uint32_t nobody = groups_[g].nobody;
      for (std::uint32_t round = 0; round < group_size_; ++round) {
        pairs.clear();
        groups_[g].factors->append(round, pairs);
        const auto alone = std::ranges::find_if(pairs, [&](const NodePair& pair) {
          return pair.first == nobody || pair.second == nobody;
        });
        const std::uint32_t who = alone->first == nobody ? alone->second : alone->first;
        over.push_back(g * group_size_ + who - (who > nobody ? 1 : 0));
      }
    }
  }
  [[nodiscard]] std::uint32_t size() const override {
    return group_size_ * static_cast<std::uint32_t>(groups_.size());
  }
  // First the g mixed rounds, then the shifts of each meeting of groups.
  void append(std::uint32_t round, std::vector<NodePair>& out) const override {
    if (round < group_size_) return append_mixed(round, out);
    // Shift 0 of turn 0 went into the mixed rounds.
    const std::uint32_t beyond = round - group_size_ + 1;
    append_across(beyond / group_size_, beyond % group_size_, out);
  }

 private:
  // The positions without a partner in their own group meet across groups.
  void append_mixed(std::uint32_t round, std::vector<NodePair>& out) const {
    std::vector<NodePair> pairs;
    std::uint32_t begin = 0;
    for (const Group& group : groups_) {
      pairs.clear();
      group.factors->append(round, pairs);
      const auto place = [&](std::uint32_t position) {
        return begin + position - (position > group.nobody ? 1 : 0);
      };
      for (const auto& [a, b] : pairs)
        if (a != group.nobody && b != group.nobody) out.emplace_back(place(a), place(b));
      begin += group_size_;
    }
    pairs.clear();
    meetings_.append(0, pairs);
    for (const auto& [a, b] : pairs) out.emplace_back(left_over_[a][round], left_over_[b][round]);
  }
  // Pairs between groups that meet in `turn`, the groups in the order in which nodes are left over.
  void append_across(std::uint32_t turn, std::uint32_t shift, std::vector<NodePair>& out) const {
    std::vector<NodePair> meetings;
    meetings_.append(turn, meetings);
    for (const auto& [a, b] : meetings)
      for (std::uint32_t i = 0; i < group_size_; ++i)
        out.emplace_back(
            left_over_[a][i],
            left_over_[b][i + shift < group_size_ ? i + shift : i + shift - group_size_]);
  }

  std::vector<Group> groups_;
  std::uint32_t group_size_;
  // Rounds in which groups meet.
  Circle meetings_;
  // By group and round: the position that the group leaves over.
  std::vector<std::vector<std::uint32_t>> left_over_;
};

using Nodes = std::vector<std::uint32_t>;

// A factorisation and which node sits at each of its positions.
struct Arranged {
  std::unique_ptr<Factorisation> factors;
  Nodes nodes;
};

// Level at which nodes are split into groups, from far to near.
enum class Tier : std::uint8_t { kPods, kLeaves, kWithin };

// Builds the factorisation from the outermost level inwards.
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
    // Groups of one node each need no split at this level.
    if (groups.size() == nodes.size()) return build(std::move(nodes), nearer);
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

  // Groups of even size need no filler.
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

  // Each group gets a nobody, so that its size becomes even.
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

// An odd number of nodes gets a nobody as filler.
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

// Translates positions to nodes and drops the pair with nobody.
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
