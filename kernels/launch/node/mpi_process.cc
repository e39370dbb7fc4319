// Starts a program under railgauge-launch-shim --keep, in a process group of its own.
#include "kernels/launch/node/mpi_process.h"

#include <unistd.h>

#include <csignal>

#include <fmt/format.h>

namespace railgauge {
namespace {

// How long a release waits for the keeper, in tries of kReapPauseSeconds: 5 s in all.
constexpr int kReapTries = 500;
constexpr double kReapPauseSeconds = 0.01;

}  // namespace

// Sends SIGTERM repeatedly: the second one makes the keeper kill without grace. Finally kills a
// keeper that does not end.
void KeeperTraits::release(pid_t pid) {
  for (int i = 0; i < kReapTries; ++i) {
    ::kill(pid, SIGTERM);
    if (wait_for_end(pid, kReapPauseSeconds)) return;
    if (::kill(pid, 0) != 0) return;  // already reaped
  }
  ::kill(pid, SIGKILL);
  wait_for_end(pid);
}

Result<MpiProcess> MpiProcess::start(const MpiCommand& command) {
  PipeEnds out = RG_TRY(make_pipe());
  PipeEnds err = RG_TRY(make_pipe());
  set_nonblocking(out.read);
  set_nonblocking(err.read);
  Program keeper{.argv = {command.keeper, "--keep", fmt::format("{}", ::getpid()),
                          fmt::format("{:.0f}", command.grace_seconds * 1e3), command.program},
                 .environment = command.environment,
                 .descriptors = {{STDOUT_FILENO, out.write.get()},
                                 {STDERR_FILENO, (command.one_stream ? out : err).write.get()}},
                 .detached = true,
                 .folder = "/"};
  keeper.argv.insert(keeper.argv.end(), command.words.begin(), command.words.end());
  MpiProcess kept;
  kept.keeper_.reset(RG_TRY(start_program(keeper)));
  kept.exit_fd_ = exit_fd_of(kept.keeper_.get());
  kept.out_ = std::move(out.read);
  if (!command.one_stream) kept.err_ = std::move(err.read);
  return kept;
}

// The keeper's status is the program's own: it ends in the same way.
std::optional<int> MpiProcess::ended() {
  if (status_ || !keeper_) return status_;
  status_ = wait_for_end(keeper_.get(), 0);
  if (status_) static_cast<void>(keeper_.release());
  return status_;
}

// Does nothing once the keeper has ended, since its pid may belong to another process.
void MpiProcess::end() const {
  if (keeper_) ::kill(keeper_.get(), SIGTERM);
}

// An error closes the descriptor, as its end does.
void read_what_is_there(Fd& fd, std::string& to, std::size_t most_bytes) {
  if (fd && to.size() < most_bytes && !read_available(fd.get(), most_bytes - to.size(), to))
    fd.reset();
}

}  // namespace railgauge
