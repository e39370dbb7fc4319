#include "controller/plan/rounds/factorisation.h"

#include <algorithm>

#include "kernels/core/base/result.h"

namespace railgauge::plan {

Circle::Circle(std::uint32_t size) : size_(size) { RG_CHECK(size >= 2 && size % 2 == 0); }

void Circle::append(std::uint32_t round, std::vector<NodePair>& out) const {
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

EvenGroups::EvenGroups(std::vector<std::unique_ptr<Factorisation>> groups)
    : groups_(std::move(groups)),
      group_size_(groups_.front()->size()),
      halves_(static_cast<std::uint32_t>(2 * groups_.size())) {
  RG_CHECK(std::ranges::all_of(groups_,
                               [this](const auto& group) { return group->size() == group_size_; }));
}

std::uint32_t EvenGroups::size() const {
  return group_size_ * static_cast<std::uint32_t>(groups_.size());
}

void EvenGroups::append(std::uint32_t round, std::vector<NodePair>& out) const {
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

OddGroups::OddGroups(std::vector<Group> groups)
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

std::uint32_t OddGroups::size() const {
  return group_size_ * static_cast<std::uint32_t>(groups_.size());
}

void OddGroups::append(std::uint32_t round, std::vector<NodePair>& out) const {
  if (round < group_size_) return append_mixed(round, out);
  // Shift 0 of turn 0 went into the mixed rounds.
  const std::uint32_t beyond = round - group_size_ + 1;
  append_across(beyond / group_size_, beyond % group_size_, out);
}

void OddGroups::append_mixed(std::uint32_t round, std::vector<NodePair>& out) const {
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

void OddGroups::append_across(std::uint32_t turn, std::uint32_t shift,
                              std::vector<NodePair>& out) const {
  std::vector<NodePair> meetings;
  meetings_.append(turn, meetings);
  for (const auto& [a, b] : meetings)
    for (std::uint32_t i = 0; i < group_size_; ++i)
      out.emplace_back(
          left_over_[a][i],
          left_over_[b][i + shift < group_size_ ? i + shift : i + shift - group_size_]);
}

}  // namespace railgauge::plan
