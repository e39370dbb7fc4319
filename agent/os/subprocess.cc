#include "agent/os/subprocess.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "agent/os/children.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/descendants.h"

namespace railgauge::agent {
namespace {
constexpr double kReapSeconds = 1;
constexpr int kPollMs = 20;
constexpr int kStatFieldsAfterName = 19;  // from the state (field 3) to the start time (field 22)

constexpr double kCommandGraceSeconds = 0.2;

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes,
                                          const Confinement* confinement) {
  std::vector<std::string> words;
  for (char** word = environ; *word != nullptr; ++word) {
    const std::string_view text = *word;
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) words.emplace_back(text);
  }
  if (confinement != nullptr) words = runner_environment(words, confinement->variables);
  for (const auto& [name, value] : changes)
    if (!value.empty()) words.push_back(fmt::format("{}={}", name, value));
  return words;
}
// The keeper would report this by an exit code only.
Status check_program(const std::string& path) {
  if (::access(path.c_str(), X_OK) == 0) return {};
  return fail(errno == EACCES ? Code::kPermissionDenied : Code::kNotFound, "{}: start: {}", path,
              std::strerror(errno));
}

// A keeper that the runner stopped, where Linux lets it, must run to hear.
void end_by_keeper(pid_t keeper) {
  ::kill(keeper, SIGQUIT);
  ::kill(keeper, SIGCONT);
}

// A keeper that exits has left nothing; a runner may have killed one that a signal ended.
void end_strays_of(int wait_status) {
  if (WIFSIGNALED(wait_status)) end_strays();
}
}  // namespace

void KeeperTraits::release(pid_t pid) {
  end_by_keeper(pid);
  if (const auto status = wait_for_child(pid, kReapSeconds)) end_strays_of(*status);
}

void ProcessTraits::release(pid_t pid) {
  ::kill(-pid, SIGKILL);
  wait_for_child(pid, kReapSeconds);
}

Result<Subprocess> Subprocess::spawn(const Options& options) {
  Subprocess child;
  const Confinement* confinement = options.confinement;
  if (confinement != nullptr) RG_TRY_OK(check_program(options.argv.front()));
  Program program{.argv = confinement == nullptr
                              ? options.argv
                              : kept_words(*confinement, options.argv, options.grace_seconds),
                  .environment = environment_with(options.environment, confinement),
                  .detached = true,
                  .closes_others = true};
  std::vector<Fd> child_ends;
  const auto connect = [&](int number, Fd& child_end, Fd& own_end, std::vector<Fd>& own_ends) {
    set_nonblocking(own_end);
    program.descriptors[number] = child_end.get();
    child_ends.push_back(std::move(child_end));
    own_ends.push_back(std::move(own_end));
  };
  for (const int number : options.child_reads) {
    PipeEnds ends = RG_TRY(make_pipe());
    connect(number, ends.read, ends.write, child.to_child_);
  }
  for (const int number : options.child_writes) {
    PipeEnds ends = RG_TRY(make_pipe());
    connect(number, ends.write, ends.read, child.from_child_);
  }
  const pid_t started = RG_TRY(start_child(program));
  if (confinement == nullptr)
    child.pid_.reset(started);
  else
    child.keeper_.reset(started);
  child.exit_fd_ = exit_fd_of(child.pid());
  return child;
}

void Subprocess::signal_group(int signal) const {
  if (keeper_ && signal == SIGKILL) return end_by_keeper(keeper_.get());
  if (pid() >= 0) ::kill(-pid(), signal);
}

void Subprocess::kill_below() const {
  if (!keeper_) return;
  for (const pid_t process : descendants_of(keeper_.get(), read_relations()))
    ::kill(process, SIGKILL);
  end_by_keeper(keeper_.get());
}

std::optional<Exit> Subprocess::reap() {
  const pid_t leader = pid();
  if (leader < 0) return std::nullopt;
  siginfo_t info{};
  const auto id = static_cast<id_t>(leader);
  if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return std::nullopt;
  // The zombie still holds the group's number, so the signal cannot hit another group.
  ::kill(-leader, SIGKILL);
  Exit exit;
  rusage usage{};
  RG_CHECK(reap_child(leader, exit.wait_status, usage));
  const bool was_keeper = keeper_.get() == leader;
  static_cast<void>(pid_.release());
  static_cast<void>(keeper_.release());
  if (was_keeper) end_strays_of(exit.wait_status);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  exit.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  exit.max_resident_bytes = static_cast<double>(usage.ru_maxrss) * 1024;
  return exit;
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
                                  std::size_t limit_bytes, CommandOutput* until_then,
                                  const Confinement* confinement) {
  CommandOutput unwanted;
  CommandOutput& result = until_then == nullptr ? unwanted : *until_then;
  Subprocess child = RG_TRY(Subprocess::spawn({.argv = argv,
                                               .child_reads = {},
                                               .child_writes = {STDOUT_FILENO, STDERR_FILENO},
                                               .confinement = confinement,
                                               .grace_seconds = kCommandGraceSeconds}));
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
