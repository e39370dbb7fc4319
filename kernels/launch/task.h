// One rank's part of an MPI task under an agent, in a program without MPI. Rank 0 runs the MPI's
// launcher; every rank starts the launcher's daemon on its node when asked. Requests travel as
// steps of the task's rendezvous, which agents and controller carry only while the task runs: that
// is the lease.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "kernels/core/base/fd.h"
#include "kernels/core/group/group.h"
#include "kernels/runner/task/run.h"

namespace railgauge {

// The reason to end a task, set by the channel's thread. Thread safe; the first reason counts.
class EndRequest {
 public:
  EndRequest();
  void ring(const Error& why);
  [[nodiscard]] std::optional<Error> why() const;
  [[nodiscard]] int fd() const { return wake_.get(); }  // readable once ring() was called

 private:
  const Fd wake_;
  mutable std::mutex mutex_;
  std::optional<Error> why_;
};

struct MpiTaskOptions {
  std::string name;  // "run7/task3", for refusals
  EndRequest& end_request;
};

// Prepares, runs, writes the final record, and returns the exit code. `ready`: see run_kernel().
// Signals must be blocked; SIGTERM acts like a cancel. On return no process that it started is
// left.
int run_mpi_task(const Task& task, const MpiTaskOptions& options, Group& group,
                 RecordWriter& records, const Ready& ready);

}  // namespace railgauge
