// Where rounds of pairs come from, before any filter. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "controller/plan/rounds/pair_schedule.h"

namespace railgauge::plan {

class PairSource {
 public:
  virtual ~PairSource() = default;
  [[nodiscard]] virtual std::size_t rounds() const = 0;
  // Replaces what `out` held; no node twice, no order.
  virtual void pairs(std::size_t round, std::vector<NodePair>& out) const = 0;
};

// All pairs of some nodes, nested by their places. `members` are their numbers, in an order that
// the circles follow.
class NestedSource final : public PairSource {
 public:
  NestedSource(std::vector<std::uint32_t> members, std::span<const LeafPlace> places);
  [[nodiscard]] std::size_t rounds() const override { return schedule_.rounds(); }
  void pairs(std::size_t round, std::vector<NodePair>& out) const override;

 private:
  std::vector<std::uint32_t> members_;
  PairSchedule schedule_;
};

// All pairs within each group, groups side by side: as many rounds as the largest needs.
class ParallelSource final : public PairSource {
 public:
  ParallelSource(const std::vector<std::vector<std::uint32_t>>& groups,
                 std::span<const LeafPlace> places);
  [[nodiscard]] std::size_t rounds() const override { return rounds_; }
  void pairs(std::size_t round, std::vector<NodePair>& out) const override;

 private:
  std::vector<NestedSource> groups_;
  std::size_t rounds_ = 0;
};

// Mixed hardware: all pairs within each kind, kinds side by side, then those between two kinds
// each, as many kinds side by side as there can be. More rounds than N - 1: kinds differ in size.
class KindSource final : public PairSource {
 public:
  KindSource(std::vector<std::vector<std::uint32_t>> kinds, std::span<const LeafPlace> places);
  [[nodiscard]] std::size_t rounds() const override { return rounds_; }
  void pairs(std::size_t round, std::vector<NodePair>& out) const override;

 private:
  struct Between {  // meetings of kinds that begin with the same round
    std::size_t begin;
    std::vector<NodePair> kinds;
  };
  std::vector<std::vector<std::uint32_t>> kinds_;
  ParallelSource within_;
  std::vector<Between> between_;
  std::size_t rounds_;
};

class ListedSource final : public PairSource {
 public:
  explicit ListedSource(std::vector<std::vector<NodePair>> rounds) : rounds_(std::move(rounds)) {}
  [[nodiscard]] std::size_t rounds() const override { return rounds_.size(); }
  void pairs(std::size_t round, std::vector<NodePair>& out) const override { out = rounds_[round]; }

 private:
  std::vector<std::vector<NodePair>> rounds_;
};

// Each node with the next in `order`, the last with the first: 2 rounds, 3 when odd, 1 of two
// nodes.
std::vector<std::vector<NodePair>> ring_of(std::span<const std::uint32_t> order);
// The first half with the second, one round.
std::vector<std::vector<NodePair>> halves_of(std::span<const std::uint32_t> order);
// Nodes by leaf, in the order of `members`; those of no known leaf are left out.
std::vector<std::vector<std::uint32_t>> by_leaf(std::span<const std::uint32_t> members,
                                                std::span<const LeafPlace> places);

}  // namespace railgauge::plan
