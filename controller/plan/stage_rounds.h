// A stage's tasks in rounds, one launch of each. Rounds of pairs are made one at a time. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/rounds/pair_rounds.h"
#include "controller/plan/stage_plan.h"

namespace railgauge::plan {

struct PlanOptions;

inline constexpr std::string_view kNobodyOfSlice =
    "each pair of the slice has a node that takes no part now";

class StageRounds {
 public:
  // kInvalidArgument: a number of ranks that the kernel does not take, a list of pairs that cannot
  // be read.
  static Result<StageRounds> make(const StagePlan& plan, const PlanContext& context,
                                  std::uint64_t seed, const PlanOptions& options);

  [[nodiscard]] std::size_t size() const;
  // Tasks, distance and direction of a round, with its expected time and traffic; without its
  // stage and repetition.
  struct Info {
    PlannedRound round{};
    double bytes = 0;
  };
  [[nodiscard]] Info info(std::size_t round) const;
  [[nodiscard]] std::vector<TaskSeats> tasks(std::size_t round) const;
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  // Why there are no rounds, where the chosen nodes give none: "pairs need at least 2 nodes, 1
  // chosen". The suite's other stages are measured.
  [[nodiscard]] const std::string& left_out() const { return left_out_; }

 private:
  // What a node is to the tasks of one pass, so that a round's cost needs no tasks.
  struct NodeCost {
    double rate = 0;
    std::size_t gpus = 0;
    bool waived = false;
  };
  // The choices of both ends of a pair; all of them without rails.
  struct Link {
    std::optional<std::uint32_t> first{};
    std::optional<std::uint32_t> second{};
  };
  struct Turn {  // what a round of pairs is measured as
    std::size_t pairs_round;
    const std::vector<Link>* links;
    bool reversed;
  };

  StageRounds(const StagePlan& plan, const PlanContext& context) : plan_(plan), context_(context) {}
  Status lay_out(std::uint64_t seed, const PlanOptions& options);
  Status lay_out_pairs(std::uint64_t seed, const PlanOptions& options);
  void lay_out_leaves();
  void leave_out(std::string reason);
  void lay_out_within_nodes(std::uint32_t ranks);
  void lay_out_group();
  void lay_out_nodes();
  void add_all_seats(std::uint32_t node, std::vector<Seat>& seats) const;
  void add_passes();
  [[nodiscard]] Status check_ranks() const;
  [[nodiscard]] Turn turn_of(std::size_t round) const;
  void add_seats(std::uint32_t node, const std::optional<std::uint32_t>& choice,
                 std::vector<Seat>& seats) const;
  void add_idle(const std::vector<NodePair>& pairs, std::vector<TaskSeats>& tasks) const;
  [[nodiscard]] bool fills_idle(std::size_t pairs_round) const;
  [[nodiscard]] NodeCost cost_of(std::uint32_t node,
                                 const std::optional<std::uint32_t>& choice) const;
  void add_costs();
  void add_cost(const Turn& turn, const std::vector<NodePair>& pairs, Info& info) const;

  const StagePlan& plan_;
  const PlanContext& context_;
  std::vector<std::vector<TaskSeats>> fixed_;  // without pairs
  std::optional<PairRounds> pairs_;
  std::vector<std::vector<Link>> passes_;     // of pairs: the links at one time
  std::vector<std::vector<NodeCost>> costs_;  // all choices together, then one by one; of each node
  std::vector<std::string> notes_;
  std::string left_out_;
};

}  // namespace railgauge::plan
