// A program of an MPI under the keeper (railgauge-launch-shim --keep): when the keeper has ended,
// no process of the program is left on this node, in any group or session. A passive object; the
// owner polls. The starting thread must live as long as the process, because its parent's death
// ends it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/spawn.h"

namespace railgauge {

// The program to start, and its surroundings.
struct MpiCommand {
  std::string keeper;  // path of railgauge-launch-shim
  std::string program;
  std::vector<std::string> words;        // argv, the program's name first
  std::vector<std::string> environment;  // NAME=VALUE, the whole environment
  bool one_stream = false;               // stderr goes to the pipe of stdout
  double grace_seconds = 0.2;            // from the first end() to KILL
};

// A handle's traits. release() signals the keeper twice, so that it kills without grace, and waits
// until no process is left.
struct KeeperTraits {
  using Type = pid_t;
  static Type empty() { return -1; }
  static void release(Type pid);
};

// Move only. Not thread safe.
class MpiProcess {
 public:
  // Starts the keeper and the program. Errors: those of start_program() for the keeper. A missing
  // program gives exit code 127 and a message on stderr.
  static Result<MpiProcess> start(const MpiCommand& command);

  // The program's output. Non-blocking; reset at end of file.
  Fd& out() { return out_; }
  Fd& err() { return err_; }
  [[nodiscard]] int out_fd() const { return out_.get(); }
  [[nodiscard]] int err_fd() const { return err_.get(); }
  // A pidfd, readable when the keeper has ended; -1 where Linux has no pidfd.
  [[nodiscard]] int exit_fd() const { return exit_fd_.get(); }
  // Returns the program's wait status once no process of it is left; absent before. Does not block,
  // and may be called again.
  std::optional<int> ended();
  // Asks the program to end; the second call kills it without grace.
  void end() const;

 private:
  Handle<KeeperTraits> keeper_;
  Fd exit_fd_;
  Fd out_;
  Fd err_;
  std::optional<int> status_;
};

// Appends available bytes until `to` holds `most_bytes`. Closes the descriptor at end of file.
void read_what_is_there(Fd& fd, std::string& to, std::size_t most_bytes);

}  // namespace railgauge
