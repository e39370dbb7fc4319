// Starts programs by posix_spawn, which a process of many threads may call at any time.
#include "kernels/core/base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

namespace railgauge {
namespace {

constexpr int kFailedBody = 4;  // kExitInvalid of outcome.h
constexpr std::size_t kReadChunkBytes = 16U << 10U;
constexpr auto kLook = std::chrono::milliseconds(5);  // between two looks at a process

std::string because(std::string_view what, int error) {
  return std::string(what) + ": " + std::strerror(error);
}

Code code_of_start(int error) {
  if (error == ENOENT || error == ENOTDIR) return Code::kNotFound;
  if (error == EACCES || error == EPERM || error == ENOEXEC) return Code::kPermissionDenied;
  return Code::kResourceExhausted;
}

// As posix_spawn(3) takes them; they point into `words`, which must stay.
std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

// The objects of posix_spawn, released on every path.
struct Setup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  std::vector<Fd> moved;
  Setup() {
    RG_CHECK(posix_spawn_file_actions_init(&actions) == 0 &&
             posix_spawnattr_init(&attributes) == 0);
  }
  ~Setup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }

  void set_signals_and_group(bool own_group) {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
  }

  // Ours are moved above all numbers that dup2 fills in the child.
  Status set_descriptors(const Program& program) {
    int above = STDERR_FILENO + 1;
    for (const auto& [number, ours] : program.descriptors) above = std::max(above, number + 1);
    for (int fd = STDIN_FILENO; program.detached && fd <= STDERR_FILENO; ++fd)
      posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    for (const auto& [number, ours] : program.descriptors) {
      Fd& copy = moved.emplace_back(::fcntl(ours, F_DUPFD_CLOEXEC, above));
      if (!copy) return fail(Code::kResourceExhausted, because("fcntl", errno));
      posix_spawn_file_actions_adddup2(&actions, copy.get(), number);
    }
    if (program.closes_others) posix_spawn_file_actions_addclosefrom_np(&actions, above);
    if (!program.folder.empty())
      posix_spawn_file_actions_addchdir_np(&actions, program.folder.c_str());
    return {};
  }
};

}  // namespace

Result<PipeEnds> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Code::kResourceExhausted, because("pipe", errno));
  return PipeEnds{Fd(ends[0]), Fd(ends[1])};
}

void set_nonblocking(const Fd& fd) { RG_CHECK(::fcntl(fd.get(), F_SETFL, O_NONBLOCK) == 0); }

Result<pid_t> start_program(const Program& program) {
  RG_CHECK(!program.argv.empty());
  Setup setup;
  RG_TRY_OK(setup.set_descriptors(program));
  setup.set_signals_and_group(program.detached);
  std::vector<char*> environment;
  if (program.environment) environment = pointers(*program.environment);
  pid_t pid = -1;
  const auto spawn = program.searches_path ? ::posix_spawnp : ::posix_spawn;
  const int error =
      spawn(&pid, program.argv[0].c_str(), &setup.actions, &setup.attributes,
            pointers(program.argv).data(), program.environment ? environment.data() : environ);
  if (error != 0) return fail(code_of_start(error), because(program.argv[0] + ": start", error));
  return pid;
}

Result<pid_t> fork_process(std::string_view who, const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail(Code::kResourceExhausted, because("fork", errno));
  if (child > 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kFailedBody);  // it died before prctl
  int exit_code = kFailedBody;
  try {
    exit_code = body();
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "%.*s: threw %s\n", static_cast<int>(who.size()), who.data(),
                 thrown.what());
  }
  std::fflush(nullptr);
  ::_exit(exit_code);
}

std::optional<int> wait_for_end(pid_t child, double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const bool is_bounded = seconds < std::numeric_limits<double>::infinity();
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, is_bounded ? WNOHANG : 0);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    if (!is_bounded) continue;
    if (std::chrono::duration<double>(Clock::now() - begin).count() >= seconds) return std::nullopt;
    std::this_thread::sleep_for(kLook);
  }
}

Fd exit_fd_of(pid_t process) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0))); }

bool read_available(int fd, std::size_t limit_bytes, std::string& out) {
  std::array<char, kReadChunkBytes> chunk;
  for (std::size_t got = 0; got < limit_bytes;) {
    const ssize_t n = ::read(fd, chunk.data(), std::min(chunk.size(), limit_bytes - got));
    if (n > 0) {
      out.append(chunk.data(), static_cast<std::size_t>(n));
      got += static_cast<std::size_t>(n);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
      return false;
    } else if (errno == EAGAIN) {
      return true;
    }
  }
  return true;
}

}  // namespace railgauge
