#include "agent/os/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"

namespace railgauge::agent {
namespace {
constexpr int kFirstPrivateFd = 32;  // child ends live above every descriptor that a child is given
constexpr int kReapTries = 100;
constexpr unsigned kReapPauseMicroseconds = 10'000;
constexpr std::size_t kReadChunkBytes = 16U << 10U;
constexpr int kPollMs = 20;
constexpr int kStatFieldsAfterName = 19;  // from the state (field 3) to the start time (field 22)

// The objects of posix_spawn, released whatever happens.
struct SpawnSetup {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSetup() {
    RG_CHECK(posix_spawn_file_actions_init(&actions) == 0 &&
             posix_spawnattr_init(&attributes) == 0);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  void set_signals_and_group() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
};

struct PipeEnds {
  Fd read;
  Fd write;
};

Result<PipeEnds> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Code::kResourceExhausted, fmt::format("pipe: {}", std::strerror(errno)));
  return PipeEnds{Fd(ends[0]), Fd(ends[1])};
}

// Moves a child's end out of the range that dup2 fills, and makes ours non-blocking.
Status separate(Fd& child_end, const Fd& our_end) {
  const int moved = ::fcntl(child_end.get(), F_DUPFD_CLOEXEC, kFirstPrivateFd);
  if (moved < 0)
    return fail(Code::kResourceExhausted, fmt::format("fcntl: {}", std::strerror(errno)));
  child_end.reset(moved);
  RG_CHECK(::fcntl(our_end.get(), F_SETFL, O_NONBLOCK) == 0);
  return {};
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> words;
  for (char** word = environ; *word != nullptr; ++word) {
    const std::string_view text = *word;
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) words.emplace_back(text);
  }
  for (const auto& [name, value] : changes)
    if (!value.empty()) words.push_back(fmt::format("{}={}", name, value));
  return words;
}

Code code_of_spawn(int error) {
  if (error == ENOENT || error == ENOTDIR) return Code::kNotFound;
  if (error == EACCES || error == EPERM || error == ENOEXEC) return Code::kPermissionDenied;
  return Code::kResourceExhausted;
}
}  // namespace

void ProcessTraits::release(pid_t pid) {
  ::kill(-pid, SIGKILL);
  for (int i = 0; i < kReapTries; ++i) {
    if (::waitpid(pid, nullptr, WNOHANG) != 0) return;
    ::usleep(kReapPauseMicroseconds);
  }
}

Result<Subprocess> Subprocess::spawn(const Options& options) {
  RG_CHECK(!options.argv.empty());
  SpawnSetup setup;
  Subprocess child;
  std::vector<Fd> child_ends;
  int highest = STDERR_FILENO;
  const std::array kStandard{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  for (const int fd : kStandard)
    posix_spawn_file_actions_addopen(&setup.actions, fd, "/dev/null", O_RDWR, 0);
  const auto give = [&](Fd end, int fd) {
    RG_CHECK(fd < kFirstPrivateFd);
    posix_spawn_file_actions_adddup2(&setup.actions, end.get(), fd);
    child_ends.push_back(std::move(end));
    highest = std::max(highest, fd);
  };
  for (const int fd : options.child_reads) {
    PipeEnds ends = RG_TRY(make_pipe());
    RG_TRY_OK(separate(ends.read, ends.write));
    give(std::move(ends.read), fd);
    child.to_child_.push_back(std::move(ends.write));
  }
  for (const int fd : options.child_writes) {
    PipeEnds ends = RG_TRY(make_pipe());
    RG_TRY_OK(separate(ends.write, ends.read));
    give(std::move(ends.write), fd);
    child.from_child_.push_back(std::move(ends.read));
  }
  posix_spawn_file_actions_addclosefrom_np(&setup.actions, highest + 1);
  setup.set_signals_and_group();

  std::vector<char*> argv;
  for (const std::string& word : options.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::vector<std::string> words = environment_with(options.environment);
  std::vector<char*> environment;
  for (std::string& word : words) environment.push_back(word.data());
  environment.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, argv[0], &setup.actions, &setup.attributes, argv.data(),
                                  environment.data());
  if (error != 0)
    return fail(code_of_spawn(error),
                fmt::format("{}: start: {}", options.argv.front(), std::strerror(error)));
  child.pid_.reset(pid);
  child.exit_fd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return child;
}

void Subprocess::signal_group(int signal) const {
  if (pid_) ::kill(-pid_.get(), signal);
}

std::optional<Exit> Subprocess::reap() {
  if (!pid_) return std::nullopt;
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_.get());
  if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return std::nullopt;
  // The zombie still holds the group's number, so that nobody else's group can be hit.
  ::kill(-pid_.get(), SIGKILL);
  Exit exit;
  rusage usage{};
  RG_CHECK(::wait4(pid_.get(), &exit.wait_status, 0, &usage) == pid_.get());
  static_cast<void>(pid_.release());
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  exit.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  exit.max_resident_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  return exit;
}

bool read_available(int fd, std::size_t limit_bytes, std::string& out) {
  std::array<char, kReadChunkBytes> chunk;
  for (std::size_t got = 0; got < limit_bytes;) {
    const ssize_t n = ::read(fd, chunk.data(), chunk.size());
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

std::optional<std::uint64_t> process_start_ticks(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = text.rfind(')');  // a name may hold anything, parentheses too
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") return std::nullopt;
  for (int i = 1; i < kStatFieldsAfterName; ++i) fields >> field;
  std::uint64_t ticks = 0;
  return fields >> ticks ? std::optional(ticks) : std::nullopt;
}

Result<CommandOutput> run_command(const std::vector<std::string>& argv, double timeout_seconds,
                                  std::size_t limit_bytes, CommandOutput* until_then) {
  CommandOutput unwanted;
  CommandOutput& result = until_then == nullptr ? unwanted : *until_then;
  Subprocess child = RG_TRY(Subprocess::spawn(
      {.argv = argv, .child_reads = {}, .child_writes = {STDOUT_FILENO, STDERR_FILENO}}));
  const double end_ns = monotonic_now_ns() + timeout_seconds * 1e9;
  std::optional<Exit> exit;
  for (bool open = true; open || !exit;) {
    if (monotonic_now_ns() > end_ns)
      return fail(Code::kDeadlineExceeded,
                  fmt::format("{}: no end after {:.3g} s", argv.front(), timeout_seconds));
    std::array<pollfd, 3> set{{{child.from_child_fd(0), POLLIN, 0},
                               {child.from_child_fd(1), POLLIN, 0},
                               {exit ? -1 : child.exit_fd(), POLLIN, 0}}};
    if (!open) set[0].fd = set[1].fd = -1;
    ::poll(set.data(), set.size(), kPollMs);
    const bool out_open = read_available(child.from_child_fd(0), limit_bytes, result.out);
    const bool err_open = read_available(child.from_child_fd(1), limit_bytes, result.err);
    open = out_open || err_open;
    if (result.out.size() + result.err.size() > limit_bytes)
      return fail(Code::kResourceExhausted,
                  fmt::format("{}: prints more than {} bytes", argv.front(), limit_bytes));
    if (!exit) exit = child.reap();
  }
  result.wait_status = exit->wait_status;
  return std::move(result);
}

}  // namespace railgauge::agent
