#include "controller/plan/rounds/pair_sources.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "kernels/core/base/result.h"

namespace railgauge::plan {
namespace {

std::vector<LeafPlace> places_of(std::span<const std::uint32_t> members,
                                 std::span<const LeafPlace> places) {
  std::vector<LeafPlace> out;
  out.reserve(members.size());
  for (const std::uint32_t node : members) out.push_back(places[node]);
  return out;
}

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

void ParallelSource::pairs(std::size_t round, std::vector<NodePair>& out) const {
  out.clear();
  std::vector<NodePair> part;
  for (const NestedSource& group : groups_) {
    if (round >= group.rounds()) continue;
    group.pairs(round, part);
    out.insert(out.end(), part.begin(), part.end());
  }
}

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

std::vector<std::vector<NodePair>> halves_of(std::span<const std::uint32_t> order) {
  const std::size_t half = order.size() / 2;
  if (half == 0) return {};
  std::vector<std::vector<NodePair>> rounds(1);
  // With an odd number the one in the middle is left over.
  for (std::size_t i = 0; i < half; ++i)
    rounds.front().push_back(in_order(order[i], order[order.size() - half + i]));
  return rounds;
}

std::vector<std::vector<std::uint32_t>> by_leaf(std::span<const std::uint32_t> members,
                                                std::span<const LeafPlace> places) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> leaves;
  for (const std::uint32_t node : members)
    if (places[node].leaf != LeafPlace::kUnknown) leaves[places[node].leaf].push_back(node);
  std::vector<std::vector<std::uint32_t>> out;
  out.reserve(leaves.size());
  for (auto& [leaf, nodes] : leaves) out.push_back(std::move(nodes));
  return out;
}

}  // namespace railgauge::plan
