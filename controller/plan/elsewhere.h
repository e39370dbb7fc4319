// A task between other ends than the planned ones. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "controller/plan/planner.h"

namespace railgauge::plan {

// On the points of such a task: the id of the one that it was made from.
inline constexpr const char* kInsteadOfFact = "instead_of";

// The task with the end of `replaced_rank` exchanged for `partner`: its id is the task's with "e"
// and that rank ("t0007e1"), its round the plan's last but for such tasks.
PlannedTask with_partner(const Plan& plan, const PlannedTask& task, std::uint32_t replaced_rank,
                         const PlannedRank& partner);

}  // namespace railgauge::plan
