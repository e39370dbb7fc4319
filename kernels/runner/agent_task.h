// One task under an agent: request and rendezvous arrive on one pipe, records leave on the other.
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
  // The program has no MPI, so it starts MPI kernels by a launcher.
  bool launches_mpi = false;
};

// Runs the request on `request_fd` to its final record; returns the exit code. Ends the process
// itself on a signal, a cancel, the agent's end, or past the deadline. Redirects stdout, on which
// libraries may print, to stderr. Call block_ending_signals() first; no other thread may run.
int run_agent_task(const AgentTaskOptions& options, const FindKernel& find);

// Prepares this process for a task, also in standalone use: it dies with its parent, ignores
// SIGPIPE, and redirects stdout to stderr. Ends the process if one of these fails.
void become_task_process();

}  // namespace railgauge
