// One task under an agent: request and rendezvous come on one pipe, records leave on the other.
#pragma once

#include <functional>
#include <string>

#include "kernels/core/kernel.h"

namespace railgauge {

// The command line of `--task`. The descriptors are pipe ends that the agent has passed on.
struct AgentTaskOptions {
  int request_fd = -1;
  int record_fd = -1;
  double entered_monotonic_ns = 0;
  // This program has no MPI: its kernels are ranks of a launcher.
  bool launches_mpi = false;
};

// Runs the request on `request_fd` to its final record; the exit code. Ends the process by itself
// on a signal, a cancel, the agent's end, or past the deadline. Writes nothing to stdout: text that
// libraries print there goes to stderr. Call block_ending_signals() first; no other thread may run.
int run_agent_task(const AgentTaskOptions& options, const FindKernel& find);

// Makes this process a task's, which the standalone form does as well: it dies with its parent,
// ignores SIGPIPE, and sends stdout to stderr. Ends the process where one of these fails.
void become_task_process();

}  // namespace railgauge
