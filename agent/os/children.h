// All children of the agent: those that it starts, and the orphans that come to it as subreaper. A
// runner that kills its keeper leaves such orphans; these end here. Thread safe.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>

#include "kernels/core/base/spawn.h"

namespace railgauge::agent {

// Starts a program, which is no stray until it is reaped. Errors: those of start_program().
Result<pid_t> start_child(const Program& program);

// Reaps a child of start_child() that has ended; false while it runs. Does not block.
bool reap_child(pid_t child, int& wait_status, rusage& usage);

// Waits up to `seconds` for the end of a child, reaps it and returns its wait status. Absent: it
// needs longer, and end_strays_left() reaps it.
std::optional<int> wait_for_child(pid_t child, double seconds);

// Makes this process the parent of all orphans below it. Children that it has now, such as those
// of a script that became the agent by exec, are never strays.
void adopt_orphans();

// Kills and reaps all children that nobody started here, with all below them. Call it after a
// keeper's end by a signal: one that exits has left nothing. Does nothing before adopt_orphans().
// Takes at most about a second. In a container whose process 1 is the agent, orphans of others
// count as strays too.
void end_strays();

// Continues end_strays() until nothing is left, and reaps orphans that have ended. Call it each
// second.
void end_strays_left();

}  // namespace railgauge::agent
