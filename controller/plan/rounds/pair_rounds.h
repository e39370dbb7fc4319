// Lays out pairs of nodes in rounds, for each choice of a placement: all pairs, a few random
// rounds, a ring, halves, a list. Filters pairs by leaf, splits rounds by distance, and slices
// them. Makes one round at a time. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/rounds/pair_schedule.h"
#include "controller/plan/suite/suite.h"
#include "kernels/core/base/result.h"

namespace railgauge::plan {

// Rounds of pairs, made one at a time. Implementations are immutable and thread safe for readers.
class PairSource {
 public:
  virtual ~PairSource() = default;
  // Number of rounds.
  [[nodiscard]] virtual std::size_t rounds() const = 0;
  // Replaces the content of `out` by the round's pairs, in no order; no node is in two of them.
  virtual void pairs(std::size_t round, std::vector<NodePair>& out) const = 0;
};

// All pairs of some nodes, nested by their places. `members` are the nodes' numbers; the round
// robins follow their order.
class NestedSource final : public PairSource {
 public:
  // `places` is by node number, not by member.
  NestedSource(std::vector<std::uint32_t> members, std::span<const LeafPlace> places);
  [[nodiscard]] std::size_t rounds() const override { return schedule_.rounds(); }
  void pairs(std::size_t round, std::vector<NodePair>& out) const override;

 private:
  std::vector<std::uint32_t> members_;
  PairSchedule schedule_;
};

// All pairs within each group, groups side by side: as many rounds as the largest group needs.
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

// Pairs of mixed hardware: first all pairs within each kind, kinds side by side, then all pairs
// between two kinds, as many couples of kinds side by side as possible. Takes more than N - 1
// rounds, since kinds differ in size.
class KindSource final : public PairSource {
 public:
  KindSource(std::vector<std::vector<std::uint32_t>> kinds, std::span<const LeafPlace> places);
  [[nodiscard]] std::size_t rounds() const override { return rounds_; }
  void pairs(std::size_t round, std::vector<NodePair>& out) const override;

 private:
  // Couples of kinds whose meetings begin in the same round.
  struct Between {
    std::size_t begin;
    std::vector<NodePair> kinds;
  };
  std::vector<std::vector<std::uint32_t>> kinds_;
  ParallelSource within_;
  std::vector<Between> between_;
  std::size_t rounds_;
};

// Rounds that are given as lists.
class ListedSource final : public PairSource {
 public:
  explicit ListedSource(std::vector<std::vector<NodePair>> rounds) : rounds_(std::move(rounds)) {}
  [[nodiscard]] std::size_t rounds() const override { return rounds_.size(); }
  void pairs(std::size_t round, std::vector<NodePair>& out) const override { out = rounds_[round]; }

 private:
  std::vector<std::vector<NodePair>> rounds_;
};

// Pairs each node with the next one in `order`, the last with the first. Returns 2 rounds, 3 for an
// odd number of nodes, 1 for two nodes.
std::vector<std::vector<NodePair>> ring_of(std::span<const std::uint32_t> order);
// Pairs the first half of `order` with the second half, in one round.
std::vector<std::vector<NodePair>> halves_of(std::span<const std::uint32_t> order);
// Groups `members` by leaf and keeps their order; nodes without a known leaf are left out.
std::vector<std::vector<std::uint32_t>> by_leaf(std::span<const std::uint32_t> members,
                                                std::span<const LeafPlace> places);

// Input of PairRounds::make(). The spans must stay valid during that call only.
struct PairInput {
  // By node.
  std::span<const LeafPlace> places{};
  // By node: the number of its kind of hardware; empty: all nodes are alike.
  std::span<const std::uint32_t> kinds{};
  // Node numbers sorted by place in the topology; a ring follows this order.
  std::span<const std::uint32_t> order{};
  std::uint64_t seed = 1;
  // Modulo the placement's slice_of.
  std::uint64_t slice_index = 0;
  // By node: its number in the plan, which reported pairs use. kNotThere: the node is absent from
  // this plan, and its pairs are left out. Empty: all nodes take part under their own numbers.
  std::span<const std::uint32_t> numbers{};
  // Rounds of a list, for PairChoice::kFile and kPartners.
  std::span<const std::vector<NodePair>> listed{};
};

inline constexpr std::uint32_t kNotThere = UINT32_MAX;

// Returns the expected number of good nodes that meet only bad ones, out of `nodes` with a share
// `bad_share` of bad ones, in R `matchings`: nodes x bad_share^R. A quick scan accuses them wrongly
// until its retest.
double expected_false_suspects(std::size_t nodes, double bad_share, std::uint32_t matchings);

// The rounds of one placement. Immutable after make(); thread safe for readers.
class PairRounds {
 public:
  // Counts of one round after all filters.
  struct Info {
    std::uint32_t pairs = 0;
    // Distance of most of the pairs.
    DistanceClass distance = DistanceClass::kNone;
    // True when some pairs have another distance.
    bool mixed = false;
    // True when no filter removed pairs, so that a node without a pair is the odd one out.
    bool whole = true;
  };

  // Lays out the rounds. kInvalidArgument: a choice by leaf without a topology that names leaves,
  // or no pair left. The result has no rounds when every pair of the slice has an absent end.
  static Result<PairRounds> make(const Placement& placement, const PairInput& input);

  [[nodiscard]] std::size_t size() const { return rounds_.size(); }
  [[nodiscard]] const Info& info(std::size_t round) const { return rounds_[round].info; }
  // Replaces the content of `out` by the round's pairs, sorted.
  void pairs(std::size_t round, std::vector<NodePair>& out) const;
  // Like pairs(), but unsorted and faster.
  void unordered_pairs(std::size_t round, std::vector<NodePair>& out) const;
  // Lines for people: the cost of strict_class, the blind spots of a scan, the number of the slice.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  // Number of pairs by DistanceClass.
  using Counts = std::array<std::uint32_t, 5>;
  // A round of the result: a round of a source, with its filter.
  struct Round {
    const PairSource* source = nullptr;
    // Round of the source.
    std::uint32_t index = 0;
    // Bits of the DistanceClasses that are kept.
    std::uint32_t classes = 0;
    // True when the source's round has pairs of other classes too.
    bool by_class = false;
    Info info{};
  };

  explicit PairRounds(const PairInput& input)
      : places_(input.places.begin(), input.places.end()),
        numbers_(input.numbers.begin(), input.numbers.end()) {}
  // Builds sources and rounds; called once by make().
  Status fill(const Placement& placement, const PairInput& input);
  const PairSource& add(std::unique_ptr<PairSource> source);
  void add_rounds(const PairSource& source, std::uint32_t classes);
  void add_strict_rounds(const PairSource& within, const PairSource& base, std::uint32_t classes);
  // Keeps the fullest rounds of a quick scan.
  void take_matchings(const Placement& placement, const PairInput& input);
  // Keeps every slice_of-th round.
  void take_slice(const Placement& placement, const PairInput& input);
  // Recounts the rounds without the absent nodes.
  void leave_out_absent();
  // Sets number, distance and mixture of a round from its pairs.
  void count(std::span<const NodePair> pairs, Round& round) const;
  // Reports whether the round keeps pairs of this distance.
  [[nodiscard]] bool is_kept(const Round& round, const NodePair& pair) const;
  [[nodiscard]] bool is_there(const NodePair& pair) const;

  std::vector<LeafPlace> places_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::unique_ptr<PairSource>> sources_;
  std::vector<Round> rounds_;
  std::vector<std::string> notes_;
};

// The rounds that a list of pairs describes.
struct ListedPairs {
  std::vector<std::vector<NodePair>> rounds;
  // Pairs with a node that was not chosen.
  std::size_t left_out = 0;
};
// Parses lines of `ROUND NODE NODE` into rounds in the order of their numbers; `#` begins a
// comment. kInvalidArgument, with the line: a malformed line, a node with itself, a node twice in a
// round, a pair twice.
Result<ListedPairs> parse_pair_list(std::string_view text, std::span<const std::string> nodes);

}  // namespace railgauge::plan
