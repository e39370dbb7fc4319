// Follow-ups: tasks that a run gets after its rounds. A pair separates a suspect from its partners,
// a part of a failed group halves the search, a task gets another end. Each copies a planned task.
// Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/planner.h"

namespace railgauge::plan {

// Fact on the points of a follow-up: its purpose ("same leaf", "halving").
inline constexpr const char* kFollowUpFact = "follow_up";

// Purpose of a repeated pair that is no suspect's partner: two figures of one pair show how far
// such figures differ.
inline constexpr std::string_view kMeasuredTwice = "measured twice";

// Reports whether the id is a follow-up's: "d0001" is a pair, "a0001" a pair measured twice,
// "g0001" a part of a group. Ids of planned tasks begin with "t".
bool is_follow_up(std::string_view task_id);

// A wanted pair measurement in one direction: bytes go from node `from` to node `to`.
struct WantedPair {
  std::string kernel{};
  std::string from{};
  std::string to{};
  std::int32_t rail = 0;
  // "host", "gpu".
  std::string memory{};
  // Value of kFollowUpFact on the points of the task.
  std::string purpose{};
  // Node that uses another GPU than planned; "": both ends keep their GPUs.
  std::string other_gpu_of{};
};

// Returns a node with its present endpoints, or absent when the node is unknown.
using NodeOf = std::function<std::optional<PlanNode>(const std::string& name)>;

// The planned tasks and ends that wanted pairs are made of. Immutable; thread safe for readers.
class PlannedPairs {
 public:
  PlannedPairs();
  // Reads the plan once for all pairs.
  PlannedPairs(const Plan& plan, std::span<const WantedPair> wanted);
  // The same for an outline: makes the tasks of each round whose kernel is wanted, which takes
  // seconds for a million tasks.
  PlannedPairs(const PlanOutline& outline, std::span<const WantedPair> wanted);

  class Groups;
  [[nodiscard]] const Groups& groups() const { return *groups_; }

 private:
  std::shared_ptr<const Groups> groups_;
};

// Makes one task for each wanted pair, with ids numbered from `first_number`. Copies the planned
// task of that kernel, memory and rail between the two nodes, from the last stage that has one.
// Without such a task, connects the ends that both nodes have in other tasks. Skips a pair when one
// of its nodes has no fitting task or no other GPU. `planned` was made for the same pairs, or for
// more.
std::vector<PlannedTask> follow_ups_of(const Plan& head, const PlannedPairs& planned,
                                       std::span<const WantedPair> wanted,
                                       std::uint32_t first_number, const NodeOf& node_of = {});

// Copies a group's task with only the ranks on `nodes`. The copy has the id "gNNNN", from `number`.
PlannedTask part_of_group(const Plan& plan, const PlannedTask& whole,
                          const std::set<std::string>& nodes, std::uint32_t number);

// Fact on the points of a with_partner() task: the id of the copied task.
inline constexpr const char* kInsteadOfFact = "instead_of";

// Copies the task with the end of `replaced_rank` exchanged for `partner`. The copy's id appends
// "e" and that rank ("t0007e1"); its round is the one after the planned rounds.
PlannedTask with_partner(const Plan& plan, const PlannedTask& task, std::uint32_t replaced_rank,
                         const PlannedRank& partner);

}  // namespace railgauge::plan
