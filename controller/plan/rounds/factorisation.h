// The building blocks of a nested 1-factorisation. Pure.
#pragma once

#include <memory>
#include <vector>

#include "controller/plan/rounds/pair_schedule.h"

namespace railgauge::plan {

// The circle method: the last position stays, the others move on by one each round. In round r the
// last position meets position r.
class Circle final : public Factorisation {
 public:
  explicit Circle(std::uint32_t size);  // even, at least 2
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  void append(std::uint32_t round, std::vector<NodePair>& out) const override;

 private:
  std::uint32_t size_;
};

// Groups of one even size, one after the other, each with a factorisation of its own: first the
// groups' rounds side by side, then rounds of pairs between groups alone.
class EvenGroups final : public Factorisation {
 public:
  explicit EvenGroups(std::vector<std::unique_ptr<Factorisation>> groups);
  [[nodiscard]] std::uint32_t size() const override;
  void append(std::uint32_t round, std::vector<NodePair>& out) const override;

 private:
  std::vector<std::unique_ptr<Factorisation>> groups_;
  std::uint32_t group_size_;
  Circle halves_;  // 2 for each group; j and 2G - 1 - j are of one group
};

// An even number of groups of one odd size g: each group's factorisation has one position more, for
// nobody. In the first g rounds whom a group leaves over meets who is left over in another group;
// the other rounds are between groups alone.
class OddGroups final : public Factorisation {
 public:
  struct Group {
    std::unique_ptr<Factorisation> factors;  // of g + 1
    std::uint32_t nobody;                    // its position that stands for nobody
  };
  explicit OddGroups(std::vector<Group> groups);
  [[nodiscard]] std::uint32_t size() const override;
  void append(std::uint32_t round, std::vector<NodePair>& out) const override;

 private:
  void append_mixed(std::uint32_t round, std::vector<NodePair>& out) const;
  // Pairs between groups that meet in `turn`, the groups in the order in which nodes are left over.
  void append_across(std::uint32_t turn, std::uint32_t shift, std::vector<NodePair>& out) const;

  std::vector<Group> groups_;
  std::uint32_t group_size_;
  Circle meetings_;                                    // of the groups
  std::vector<std::vector<std::uint32_t>> left_over_;  // by group and round: a position in here
};

}  // namespace railgauge::plan
