// The part of an earlier run that is still to be measured. A resumed run is planned from the same
// suite text, nodes and slice as the earlier run, so its tasks get the same ids.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/plan/planner.h"
#include "controller/store/store.h"

namespace railgauge {

// Nodes that a run cannot use now, each with the reason.
using UnusableNodes = std::map<std::string, std::string>;

// A run, then the run that it resumes, and so on. The last one was planned as a whole.
using RunChain = std::vector<store::RunRow>;

// Reads the chain of `run_id` from the store. kInvalidArgument: there is no such run.
// kFailedPrecondition: an earlier run of the chain was deleted, or the chain is too long.
Result<RunChain> read_run_chain(store::Store& store, const std::string& run_id);

// kFailedPrecondition: another run resumes `run_id` now, and both would measure the same tasks.
Status check_not_resumed(store::Store& store, const std::string& run_id);

// Marks the tasks of the outline that need no second run, by index. Reads the tasks of the chain a
// page at a time. kFailedPrecondition: the outline differs from the plan of the chain, so the ids
// would name other measurements. kUnavailable: every task that is left needs an unusable node.
// kInvalidArgument: no task is left.
Result<std::vector<bool>> finished_tasks(store::Store& store, const std::string& run_id,
                                         const plan::PlanOutline& outline, const RunChain& chain,
                                         const UnusableNodes& unusable);

}  // namespace railgauge
