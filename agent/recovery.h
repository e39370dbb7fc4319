// After a restart: answers for the tasks that the agent before left open.
#pragma once

#include "agent/spool.h"

namespace railgauge::agent {

struct Recovered {
  std::size_t tasks = 0;
  std::size_t killed_runners = 0;
};

// For each open task: kills its runner's group if the very same process still lives, then spools
// the final record "crashed". Errors are the spool's.
Result<Recovered> recover_open_tasks(Spool& spool);

}  // namespace railgauge::agent
