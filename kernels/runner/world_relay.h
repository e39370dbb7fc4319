// The rendezvous of ranks that an MPI's launcher started, for kernels that use no MPI themselves. A
// process beside the measuring one is the launcher's rank: it alone initialises MPI, once, and
// passes the steps of task after task on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"
#include "kernels/runner/task/standalone_options.h"

namespace railgauge {

// Every rank of the launcher has one and runs the same number of tasks. Not thread safe.
class WorldRelay {
 public:
  // Forks the relaying process, which calls world.join() and at the end world.leave(). No other
  // thread may run yet. kUnavailable: no socket; kResourceExhausted: no process.
  static Result<std::unique_ptr<WorldRelay>> start(const World& world);
  // Ends the process; waits for MPI_Finalize at most kFinalizeSeconds.
  ~WorldRelay();
  WorldRelay(const WorldRelay&) = delete;
  WorldRelay& operator=(const WorldRelay&) = delete;

  // Returns the group of the present task, for this process or a fork of it. A rank whose task has
  // ended is an error of the other ranks' exchange(): kUnavailable, with its number.
  [[nodiscard]] std::unique_ptr<Group> group() const;
  // Ends the present task on this rank, also after a crash of its process. The next group() belongs
  // to the next task and waits for all ranks to end this one.
  void end_task();

 private:
  WorldRelay(const World& world, Fd socket, pid_t process)
      : rank_(world.rank), size_(world.size), socket_(std::move(socket)), process_(process) {}

  const std::uint32_t rank_;
  const std::uint32_t size_;
  // Packets to and from the relaying process; forks share it.
  Fd socket_;
  const pid_t process_;
  std::uint32_t task_ = 0;
};

}  // namespace railgauge
