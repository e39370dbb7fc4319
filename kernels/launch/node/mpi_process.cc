// Starts a program under railgauge-launch-shim --keep, in a process group of its own.
#include "kernels/launch/node/mpi_process.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>

namespace railgauge {
namespace {

constexpr std::size_t kReadBytes = 16U << 10U;
// How long a release waits for the keeper, in tries of kReapPauseMicroseconds: 5 s in all.
constexpr int kReapTries = 500;
constexpr unsigned kReapPauseMicroseconds = 10'000;

// A pipe; its reading end does not block.
struct PipeEnds {
  Fd read_end;
  Fd write_end;
};

Result<PipeEnds> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0)
    return fail(Code::kUnavailable, fmt::format("pipe: {}", std::strerror(errno)));
  PipeEnds ends{Fd(fds[0]), Fd(fds[1])};
  RG_CHECK(::fcntl(ends.read_end.get(), F_SETFL, O_NONBLOCK) == 0);
  return ends;
}

// As execve(2) takes them; they point into `words`, which must stay.
std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// In the child, between fork and exec: other threads may have held any lock.
[[noreturn]] void become(char* const* argv, char* const* environment, int out, int err) {
  ::setpgid(0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  if (::chdir("/") != 0) ::_exit(126);
  ::execve(argv[0], argv, environment);
  ::_exit(127);
}

}  // namespace

// Sends SIGTERM again and again: the second one makes the keeper kill without grace. A keeper that
// does not end is killed in the end.
void KeeperTraits::release(pid_t pid) {
  ::kill(pid, SIGTERM);
  for (int i = 0; i < kReapTries; ++i) {
    if (::waitpid(pid, nullptr, WNOHANG) != 0) return;
    ::kill(pid, SIGTERM);
    ::usleep(kReapPauseMicroseconds);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

// All memory is allocated before the fork: the child may call async-signal-safe functions only.
Result<MpiProcess> MpiProcess::start(const MpiCommand& command) {
  PipeEnds out = RG_TRY(make_pipe());
  PipeEnds err = RG_TRY(make_pipe());
  std::vector<std::string> words{command.keeper, "--keep", fmt::format("{}", ::getpid()),
                                 fmt::format("{:.0f}", command.grace_seconds * 1e3),
                                 command.program};
  words.insert(words.end(), command.words.begin(), command.words.end());
  std::vector<std::string> environment = command.environment;
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> variables = pointers(environment);
  const int err_fd = command.one_stream ? out.write_end.get() : err.write_end.get();
  const pid_t child = ::fork();
  if (child < 0) return fail(Code::kUnavailable, fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) become(argv.data(), variables.data(), out.write_end.get(), err_fd);
  // Both processes set the group, so that it is there whichever runs first.
  ::setpgid(child, child);
  MpiProcess kept;
  kept.keeper_.reset(child);
  kept.exit_fd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  kept.out_ = std::move(out.read_end);
  if (!command.one_stream) kept.err_ = std::move(err.read_end);
  return kept;
}

// The keeper's status is the program's own: it ends in the same way.
std::optional<int> MpiProcess::ended() {
  if (status_ || !keeper_) return status_;
  int status = 0;
  if (::waitpid(keeper_.get(), &status, WNOHANG) != keeper_.get()) return std::nullopt;
  static_cast<void>(keeper_.release());
  status_ = status;
  return status_;
}

// Nothing once it has ended: the process id may belong to another process by then.
void MpiProcess::end() const {
  if (keeper_) ::kill(keeper_.get(), SIGTERM);
}

// An error closes the descriptor, as its end does.
void read_what_is_there(Fd& fd, std::string& to, std::size_t most_bytes) {
  std::array<char, kReadBytes> bytes;
  while (fd && to.size() < most_bytes) {
    const ssize_t got =
        ::read(fd.get(), bytes.data(), std::min(bytes.size(), most_bytes - to.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return fd.reset();
    to.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace railgauge
