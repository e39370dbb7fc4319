#include "controller/cli/input/local_agent.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

constexpr std::size_t kMaxBytes = 64U << 20U;
constexpr int kWrongUse = 2;

std::string agent_path() {
  std::error_code error;
  const auto beside =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "railgauge-agent";
  return std::filesystem::exists(beside, error) ? beside.string() : "railgauge-agent";
}

// Starts it with `out` as its stdout. 0, or an errno.
int start(const std::string& path, const std::vector<std::string>& arguments, int out, pid_t& pid) {
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  const int started = ::posix_spawnp(&pid, path.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return started;
}

// To its end; false when there is more than kMaxBytes.
bool read_all(int fd, std::string& text) {
  std::array<char, 65536> chunk{};
  for (;;) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxBytes) return false;
  }
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Result<std::string> ask_local_agent(const std::vector<std::string>& arguments) {
  const std::string path = agent_path();
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return fail(Code::kResourceExhausted,
                fmt::format("{}: no pipe: {}", path, std::generic_category().message(errno)));
  pid_t pid = 0;
  const int started = start(path, arguments, pipe[1], pid);
  ::close(pipe[1]);
  if (started != 0) {
    ::close(pipe[0]);
    return fail(Code::kNotFound,
                fmt::format("{}: start: {}; install the agent on this host, or leave out --local",
                            path, std::generic_category().message(started)));
  }
  std::string text;
  const bool whole = read_all(pipe[0], text);
  ::close(pipe[0]);  // one that still prints gets SIGPIPE
  const int status = wait_for(pid);
  if (!whole)
    return fail(Code::kResourceExhausted,
                fmt::format("{}: prints more than {} bytes", path, kMaxBytes));
  if (WIFSIGNALED(status))
    return fail(Code::kUnavailable, fmt::format("{}: ended by signal {}", path, WTERMSIG(status)));
  if (text.empty() && WEXITSTATUS(status) == kWrongUse)
    return fail(Code::kInvalidArgument, fmt::format("{} refused these words", path));
  return text;
}

}  // namespace railgauge::cli
