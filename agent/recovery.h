// Recovery after a restart: final records for the tasks that the previous agent left open.
#pragma once

#include <cstddef>
#include <vector>

#include "agent/link/spool.h"

namespace railgauge::agent {

// The result of the recovery.
struct Recovered {
  std::vector<Record> finals;  // to be spooled: "crashed", one for each open task
  std::size_t killed_runners = 0;
};

// For each open task, ends the runner with all that it left if that very process (pid and start
// time) still lives, and makes the final record. The task stays open until the record is in the
// spool, which may be full now. Errors: the spool's.
Result<Recovered> recover_open_tasks(Spool& spool);

}  // namespace railgauge::agent
