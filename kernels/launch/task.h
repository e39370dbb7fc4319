// One rank's part of an MPI task under an agent, in a program that has no MPI itself: rank 0 runs
// the MPI's launcher, the others (and rank 0 too) start that launcher's daemon on their node when
// it asks. The requests travel as steps of the task's own rendezvous, which agents and controller
// carry only for a task that is under way: that is the lease.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "kernels/core/base/fd.h"
#include "kernels/core/group/group.h"
#include "kernels/runner/task/run.h"

namespace railgauge {

// The channel's thread passes the reason for which the task is to end. Thread safe; the first
// reason counts.
class EndRequest {
 public:
  EndRequest();
  void ring(const Error& why);
  [[nodiscard]] std::optional<Error> why() const;
  [[nodiscard]] int fd() const { return wake_.get(); }  // readable from then on

 private:
  const Fd wake_;
  mutable std::mutex mutex_;
  std::optional<Error> why_;
};

struct MpiTaskOptions {
  std::string name;  // "run7/task3", for refusals
  EndRequest& end_request;
};

// Prepares, runs, writes the final record; the exit code. `ready` as run_kernel's. Signals must be
// blocked: SIGTERM ends it as a cancel does. When it returns, no process that it started is left.
int run_mpi_task(const Task& task, const MpiTaskOptions& options, Group& group,
                 RecordWriter& records, const Ready& ready);

}  // namespace railgauge
