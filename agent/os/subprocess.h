// A child process in its own process group, with pipes on the requested descriptors. A passive
// object: the owner polls. stdin and stdout are /dev/null unless a pipe replaces them, signal mask
// and dispositions are the defaults, and every other descriptor is closed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/os/confinement.h"
#include "kernels/core/base/spawn.h"

namespace railgauge::agent {

// The end of a process.
struct Exit {
  int wait_status = 0;  // as wait4 returns it
  double cpu_seconds = 0;
  // The larger of the child's own size and the agent's size at the spawn: Linux counts the address
  // space that exec replaced.
  double max_resident_bytes = 0;
};

// A handle's traits. release() kills the whole group and reaps the leader; a process that Linux
// does not release within a second is reaped later (children.h).
struct ProcessTraits {
  using Type = pid_t;
  static Type empty() { return -1; }
  static void release(Type pid);
};

// A handle's traits for a keeper, which must not be killed: it asks the keeper to kill everything
// at once. A keeper that needs longer than a second continues by itself.
struct KeeperTraits {
  using Type = pid_t;
  static Type empty() { return -1; }
  static void release(Type pid);
};

// Not thread safe.
class Subprocess {
 public:
  struct Options {
    std::vector<std::string> argv;
    std::vector<int> child_reads;   // descriptors in the child that the agent writes to
    std::vector<int> child_writes;  // descriptors in the child that the agent reads from
    // Variables that replace the agent's own of these names; an empty value removes one.
    std::map<std::string, std::string> environment{};
    // Starts argv[0], a runner, under the keeper. The process below is the keeper then; it ends as
    // the runner did, when no process of the runner is left. Absent: argv[0] itself.
    const Confinement* confinement = nullptr;
    double grace_seconds = 2;  // of a confined process, from TERM to KILL
  };
  // Starts argv[0]. kNotFound: the program does not exist. kPermissionDenied: it cannot be run.
  // kResourceExhausted: no process or descriptor is left.
  static Result<Subprocess> spawn(const Options& options);

  [[nodiscard]] pid_t pid() const { return keeper_ ? keeper_.get() : pid_.get(); }
  // Returns a pidfd, readable once the process has ended; -1 where Linux has no pidfd.
  [[nodiscard]] int exit_fd() const { return exit_fd_.get(); }
  // The agent's ends, non-blocking, in the order of the options. Reset one to close it.
  Fd& to_child(std::size_t index) { return to_child_.at(index); }
  Fd& from_child(std::size_t index) { return from_child_.at(index); }
  [[nodiscard]] int from_child_fd(std::size_t index) const { return from_child_.at(index).get(); }
  [[nodiscard]] int to_child_fd(std::size_t index) const { return to_child_.at(index).get(); }
  // Sends `signal` to every process of the group. A keeper passes it on; SIGKILL makes it kill all
  // that the runner left. Does nothing after reap() has returned an exit.
  void signal_group(int signal) const;
  // Kills all that a keeper has, from here: a runner that is not scoped can stop its keeper again
  // and again. Does nothing for other processes.
  void kill_below() const;
  // Returns the exit once the leader has ended, after the rest of its group is killed; absent while
  // the leader runs. Does not block.
  std::optional<Exit> reap();

 private:
  Handle<ProcessTraits> pid_;  // or
  Handle<KeeperTraits> keeper_;
  Fd exit_fd_;
  std::vector<Fd> to_child_;
  std::vector<Fd> from_child_;
};

// Returns the start time of a process in clock ticks since boot (field 22 of /proc/PID/stat). Pid
// and start time together identify one process for ever. Absent for no process or a zombie.
std::optional<std::uint64_t> process_start_ticks(pid_t pid);

// The result of a short command.
struct CommandOutput {
  int wait_status = 0;
  std::string out;
  std::string err;
};
// Runs a short command to its end, a runner where there is a confinement. Errors: those of
// Subprocess::spawn(); kDeadlineExceeded; kResourceExhausted if the command prints more than
// `limit_bytes`. On an error the whole group is killed, and `until_then`, if given, receives the
// output so far.
Result<CommandOutput> run_command(const std::vector<std::string>& argv, double timeout_seconds,
                                  std::size_t limit_bytes, CommandOutput* until_then = nullptr,
                                  const Confinement* confinement = nullptr);

}  // namespace railgauge::agent
