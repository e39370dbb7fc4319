// A program of an MPI under the keeper (railgauge-launch-shim --keep): when the keeper is gone,
// nothing of it is left on this node, in whatever group or session it was. A passive object; the
// owner polls. It must be started by a thread that lives as long, since its parent's death ends it.
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
  std::vector<std::string> environment;  // NAME=VALUE, all there is
  bool one_stream = false;               // stderr goes where stdout goes
  double grace_seconds = 0.2;            // from the first end() to the killing
};

// Ends at once: asked twice, so that it kills; then reaped, which lasts until nothing is left.
struct KeeperTraits {
  using Type = pid_t;
  static Type empty() { return -1; }
  static void release(Type pid);
};

// Move only. Not thread safe.
class MpiProcess {
 public:
  // Errors: those of start_program() for the keeper. A program that is not there shows as exit code
  // 127 with words on stderr.
  static Result<MpiProcess> start(const MpiCommand& command);

  // Not blocking; reset at their ends.
  Fd& out() { return out_; }
  Fd& err() { return err_; }
  [[nodiscard]] int out_fd() const { return out_.get(); }
  [[nodiscard]] int err_fd() const { return err_.get(); }
  // A pidfd, readable when all is over; -1 where Linux has none.
  [[nodiscard]] int exit_fd() const { return exit_fd_.get(); }
  // The program's wait status, as soon as nothing is left of it. Not blocking; the same again.
  std::optional<int> ended();
  // Asks it to end; the second time it is killed without grace.
  void end() const;

 private:
  Handle<KeeperTraits> keeper_;
  Fd exit_fd_;
  Fd out_;
  Fd err_;
  std::optional<int> status_;
};

// Appends what is there until `to` holds so much; closes the descriptor at its end.
void read_what_is_there(Fd& fd, std::string& to, std::size_t most_bytes);

}  // namespace railgauge
