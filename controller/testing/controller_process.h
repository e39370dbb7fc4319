// The controller's program itself, as a child on a bench's socket and database.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "controller/testing/server_bench.h"

namespace railgauge::testing_agent {

inline std::string controller_program() {
  const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
  return fmt::format("{}/bin/railgauge-controller", build == nullptr ? "build/dev" : build);
}

class ControllerProcess {
 public:
  ControllerProcess(const ServerBench& bench, const std::vector<std::string>& more,
                    const std::string& failpoint = "", std::optional<rlimit> files = {})
      : stderr_path_(bench.path(fmt::format("stderr.{}", ++count_))) {
    std::vector<std::string> words{controller_program(), "--socket=" + bench.config_.socket,
                                   "--database=" + bench.config_.database,
                                   "--suites=" + bench.config_.suites};
    words.insert(words.end(), more.begin(), more.end());
    if (std::ranges::none_of(
            more, [](const std::string& word) { return word.starts_with("--metrics-listen"); }))
      words.emplace_back("--metrics-listen=none");
    words.emplace_back("--console-listen=none");
    // Made before the fork: the child of a program with threads may allocate nothing.
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int out = ::open(stderr_path_.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    ::dup2(out, STDERR_FILENO);
    if (files) ::setrlimit(RLIMIT_NOFILE, &*files);
    if (!failpoint.empty()) ::setenv("RAILGAUGE_FAILPOINT", failpoint.c_str(), 1);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ~ControllerProcess() {
    if (pid_ > 0) signal(SIGKILL);
    wait();
  }
  ControllerProcess(const ControllerProcess&) = delete;
  ControllerProcess& operator=(const ControllerProcess&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  // Exit code, or minus the signal.
  int wait() {
    if (pid_ <= 0) return status_;
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return status_;
  }
  // The same, for `seconds` at most; absent: it has not ended.
  std::optional<int> wait_for(double seconds) {
    constexpr double kLookSeconds = 0.01;
    for (double waited = 0; waited < seconds && !has_ended(); waited += kLookSeconds)
      std::this_thread::sleep_for(std::chrono::duration<double>(kLookSeconds));
    if (!has_ended()) return std::nullopt;
    return wait();
  }
  [[nodiscard]] bool has_ended() const {
    siginfo_t info{};
    return pid_ <= 0 ||
           (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid != 0);
  }
  // Lets the heap and the stacks grow by so much at most.
  void limit_memory(double more_bytes) const {
    std::ifstream lines(fmt::format("/proc/{}/status", pid_));
    constexpr std::string_view kName = "VmData:";
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with(kName))
        set_memory_limit(std::stod(line.substr(kName.size())) * 1024 + more_bytes);
  }
  void free_memory() const { set_memory_limit(std::nullopt); }
  [[nodiscard]] std::string error_text() const {
    std::ostringstream text;
    text << std::ifstream(stderr_path_).rdbuf();
    return text.str();
  }
  [[nodiscard]] bool wait_until_serving() const {
    constexpr int kLooks = 2'000;
    for (int look = 0; look < kLooks; ++look) {
      if (error_text().find("serves") != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  [[nodiscard]] double resident_bytes() const {
    std::ifstream statm(fmt::format("/proc/{}/statm", pid_));
    double pages = 0;
    double resident = 0;
    statm >> pages >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
  }

 private:
  void set_memory_limit(std::optional<double> bytes) const {
    const rlimit limit{.rlim_cur = bytes ? static_cast<rlim_t>(*bytes) : RLIM_INFINITY,
                       .rlim_max = RLIM_INFINITY};
    ::prlimit(pid_, RLIMIT_DATA, &limit, nullptr);
  }

  inline static int count_ = 0;
  std::string stderr_path_;
  pid_t pid_ = -1;
  int status_ = 0;
};

}  // namespace railgauge::testing_agent
