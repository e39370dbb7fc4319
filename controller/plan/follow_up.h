// Tasks that a run gets after its rounds: a pair that separates a suspect from its partners, a part
// of a group that failed, a task with another end. All are made from planned tasks. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/plan/planner.h"

namespace railgauge::plan {

// Fact on the points of such a task: its purpose ("same leaf", "halving").
inline constexpr const char* kFollowUpFact = "follow_up";

// Purpose of a repeated pair that is no suspect's partner: two figures of one pair show how far
// such figures differ.
inline constexpr std::string_view kMeasuredTwice = "measured twice";

// Decides by the id: "d0001" is a pair, "a0001" a pair measured twice, "g0001" a part of a group.
// Planned tasks begin with a t.
bool is_follow_up(std::string_view task_id);

// Bytes from one node to another.
struct WantedPair {
  std::string kernel{};
  std::string from{};
  std::string to{};
  std::int32_t rail = 0;
  // "host", "gpu".
  std::string memory{};
  // Value of kFollowUpFact on the points of the task.
  std::string purpose{};
  // Node whose GPU is to be another one than planned; "": of none.
  std::string other_gpu_of{};
};

// A node with the endpoints that it has now; absent: it is not known.
using NodeOf = std::function<std::optional<PlanNode>(const std::string& name)>;

// A task for each, numbered from the first on: as the planned one of that kernel, memory and rail
// between the two, of the last stage that fits; where none was planned, between the ends that the
// two have in others. None for a pair of which one has no such task, or no other GPU.
// One pass over the plan for all wanted pairs.
std::vector<PlannedTask> follow_ups_of(const Plan& plan, std::span<const WantedPair> wanted,
                                       std::uint32_t first_number, const NodeOf& node_of = {});

// The ranks of a group's task that are on these nodes.
// The task has the id "gNNNN" and one rank for each endpoint of the given nodes.
PlannedTask part_of_group(const Plan& plan, const PlannedTask& whole,
                          const std::set<std::string>& nodes, std::uint32_t number);

// On the points of such a task: the id of the one that it was made from.
inline constexpr const char* kInsteadOfFact = "instead_of";

// The task with the end of `replaced_rank` exchanged for `partner`: its id is the task's with "e"
// and that rank ("t0007e1"), its round the plan's last but for such tasks.
PlannedTask with_partner(const Plan& plan, const PlannedTask& task, std::uint32_t replaced_rank,
                         const PlannedRank& partner);

}  // namespace railgauge::plan
