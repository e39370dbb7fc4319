// The one place that starts processes: programs, and forks of this one. With pipes to them, their
// words and their ends. Needs no other room and no protobuf. deploy/house.sh refuses a fork
// elsewhere.
#pragma once

#include <sys/types.h>

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Both ends are closed by exec.
struct PipeEnds {
  Fd read;
  Fd write;
};
// kResourceExhausted where no descriptor is left.
Result<PipeEnds> make_pipe();
void set_nonblocking(const Fd& fd);

// A program to start. Its signal mask is empty and its dispositions are as at a login.
struct Program {
  // argv[0] is the path.
  std::vector<std::string> argv;
  std::optional<std::vector<std::string>> environment{};  // NAME=VALUE; absent: this process's own
  std::map<int, int> descriptors{};                       // its number -> ours
  // Searches argv[0] in the PATH where it has no slash.
  bool searches_path = false;
  // A process group of its own, and /dev/null for the standard streams that have no descriptor.
  bool detached = false;
  // Every descriptor that is not named above is closed, whether it closes on exec or not.
  bool closes_others = false;
  std::string folder{};  // "": this process's own
};
// Thread safe. kNotFound: there is no such program. kPermissionDenied: it cannot be run.
// kResourceExhausted: no process or descriptor is left.
Result<pid_t> start_program(const Program& program);

// Forks; the child calls `body` and exits with its value by _exit, so that no destructor of the
// parent's objects runs there. An exception is printed behind `who`. stdio is flushed before, or
// both processes would print its text. The child is killed when the thread that forked it ends, so
// that a killed parent leaves no process on a device. kResourceExhausted where no process is left.
Result<pid_t> fork_process(std::string_view who, const std::function<int()>& body);

// Reaps this process's child and returns its wait status; absent where it still runs after so long.
std::optional<int> wait_for_end(pid_t child,
                                double seconds = std::numeric_limits<double>::infinity());

// Readable when the process has ended; empty where Linux has no pidfd.
Fd exit_fd_of(pid_t process);

// Reads what is available, at most `limit_bytes`, onto `out`; from a blocking descriptor until its
// end. False at end of file. An error of read counts as end of file.
bool read_available(int fd, std::size_t limit_bytes, std::string& out);

}  // namespace railgauge
