// One task under an agent: request and rendezvous come on one pipe, records leave on the other.
#pragma once

#include <functional>
#include <string>

#include "kernels/core/kernel.h"

namespace railgauge {

struct AgentTaskOptions {
  int request_fd = -1;
  int record_fd = -1;
  double entered_monotonic_ns = 0;
  bool launches_mpi = false;  // this program has no MPI: its kernels are ranks of a launcher
};

// Runs the request on `request_fd` to its final record and returns the exit code. Ends the process
// by itself on a signal, a cancel, the agent's end, or past the deadline. Writes nothing to stdout:
// what libraries print there goes to stderr. Call block_ending_signals() first.
int run_agent_task(const AgentTaskOptions& options, const FindKernel& find);

// Shared with the standalone form: dies with the parent, ignores SIGPIPE, sends stdout to stderr.
void become_task_process();

}  // namespace railgauge
