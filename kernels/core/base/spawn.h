// Starts processes: programs, and forks of this one. Connects them by pipes, reads their output and
// waits for their end. Depends on no other room and not on protobuf. deploy/house.sh refuses a fork
// in any other file.
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

// A pipe's two ends; exec closes both.
struct PipeEnds {
  Fd read;
  Fd write;
};
// Makes a pipe. kResourceExhausted when no descriptor is left.
Result<PipeEnds> make_pipe();
void set_nonblocking(const Fd& fd);

// A program to start. It starts with an empty signal mask and default signal dispositions.
struct Program {
  // argv[0] is the path.
  std::vector<std::string> argv;
  std::optional<std::vector<std::string>> environment{};  // NAME=VALUE; absent: this process's own
  std::map<int, int> descriptors{};                       // its number -> ours
  // Searches PATH for argv[0] when argv[0] has no slash.
  bool searches_path = false;
  // Puts the program in its own process group; standard streams without a descriptor get /dev/null.
  bool detached = false;
  // Closes every descriptor that `descriptors` does not name, whether it closes on exec or not.
  bool closes_others = false;
  std::string folder{};  // "": this process's own
};
// Starts the program and returns its pid. kNotFound: the program does not exist. kPermissionDenied:
// it cannot be executed. kResourceExhausted: no process or descriptor is left. Thread safe.
Result<pid_t> start_program(const Program& program);

// Forks. The child calls `body` and passes its value to _exit, so that no destructor of the
// parent's objects runs there. An exception is printed with `who` in front. stdio is flushed first,
// or both processes would print its text. The child is killed when the forking thread ends, so that
// a killed parent leaves no process on a device. kResourceExhausted when no process is left.
Result<pid_t> fork_process(std::string_view who, const std::function<int()>& body);

// Reaps this process's child and returns its wait status; absent when the child still runs after
// `seconds`.
std::optional<int> wait_for_end(pid_t child,
                                double seconds = std::numeric_limits<double>::infinity());

// Returns a descriptor that is readable once the process has ended; empty where Linux has no pidfd.
Fd exit_fd_of(pid_t process);

// Appends the available bytes, at most `limit_bytes`, to `out`; a blocking descriptor is read until
// end of file. Returns false at end of file; a read error counts as end of file.
bool read_available(int fd, std::size_t limit_bytes, std::string& out);

}  // namespace railgauge
