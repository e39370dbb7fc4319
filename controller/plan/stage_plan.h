// One stage made ready: its kernel, its parameters, and which endpoints each node has for it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "controller/plan/choice.h"
#include "controller/plan/planner.h"
#include "controller/plan/rounds/pair_schedule.h"
#include "controller/plan/stage_cost.h"

namespace railgauge::plan {

// Over whom sliced rounds are laid out: as PlanContext has it, of nodes_of_slices().
struct SlicedNodes {
  std::vector<LeafPlace> places{};
  std::vector<std::uint32_t> kinds{};
  std::vector<std::uint32_t> order{};
  std::vector<std::uint32_t> numbers{};  // PairInput::numbers; none: over the plan's nodes
};

// The nodes of a plan with what the topology tells, shared by its stages.
struct PlanContext {
  std::vector<PlanNode> nodes{};
  std::vector<LeafPlace> places{};        // of each node
  std::vector<std::string> leaf_names{};  // of each node; "" where none is known
  std::vector<std::uint32_t> kinds{};     // of hardware, of each node
  std::vector<std::uint32_t> order{};     // nodes by pod, leaf and place on it
  SlicedNodes sliced{};
};
PlanContext context_of(std::span<const PlanNode> nodes, const PlanOptions& options);

// PlanOptions::slice_nodes, each as the plan has it where it is in it, then those of the plan that
// are not among them.
std::vector<PlanNode> nodes_of_slices(std::span<const PlanNode> nodes, const PlanOptions& options);

struct StagePlan {
  Stage stage{};
  std::uint32_t index = 0;
  KernelInfo kernel{};
  Params params{};
  std::vector<std::string> identity{};
  std::vector<std::string> site_defaults{};
  std::vector<std::vector<Choice>> choices{};  // by node; more than one only with `each` and rails
  std::vector<std::size_t> gpus{};             // of each node, active or not
  StageCost cost;
};

Result<StagePlan> prepare_stage(const Stage& stage, std::uint32_t index, const PlanContext& context,
                                std::span<const KernelInfo> kernels, const Site& site);

// Where a rank is: a node, and which of its choices.
struct Seat {
  std::uint32_t node = 0;
  std::uint32_t choice = 0;
  bool operator==(const Seat&) const = default;
};
struct TaskSeats {
  std::vector<Seat> ranks{};
  bool reversed = false;
  bool idle_filler = false;
};

// Without id, round and repetition.
PlannedTask make_task(const StagePlan& plan, const PlanContext& context, const TaskSeats& seats);

}  // namespace railgauge::plan
