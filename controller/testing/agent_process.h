// The agent's and the CLI's programs themselves, against a bench's controller.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "controller/testing/server_bench.h"

namespace railgauge::testing_agent {

// The path of a program of this build.
inline std::string program(const std::string& name) {
  const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
  return fmt::format("{}/bin/{}", build == nullptr ? "build/dev" : build, name);
}

struct AgentProcessOptions {
  std::string runner = "railgauge-runner-testing";
  std::vector<std::string> more{};  // arguments
};

// A node of a folder of the bench, with one RDMA port and the marker file BENCH/NAME/busy. Its
// environment is this process's. Ended with TERM.
class AgentProcess {
 public:
  AgentProcess(const ServerBench& bench, const std::string& name,
               const AgentProcessOptions& options = {}) {
    const std::string folder = bench.path(name);
    const std::string port = folder + "/sys/class/infiniband/rxe0/ports/1";
    std::filesystem::create_directories(port + "/counters");
    std::ofstream(port + "/state") << "4: ACTIVE\n";
    std::ofstream(port + "/link_layer") << "Ethernet\n";
    std::ofstream(port + "/counters/link_downed") << "3\n";
    std::vector<std::string> words{program("railgauge-agent"),
                                   "--controller=" + bench.target(),
                                   "--name=" + name,
                                   "--state-dir=" + folder + "/state",
                                   "--runner=" + program(options.runner),
                                   "--metrics-listen=none",
                                   "--sysfs-root=" + folder + "/sys",
                                   "--busy-sources=marker",
                                   "--busy-marker=" + folder + "/busy"};
    words.insert(words.end(), options.more.begin(), options.more.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string log = bench.path(name + ".log");
    pid_ = ::fork();
    if (pid_ != 0) return;
    const int out = ::open(log.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    ::dup2(out, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ~AgentProcess() {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

struct Said {
  int exit_code = -1;
  std::string text;  // of both streams
};
// The command line `railgauge WORDS` against the bench's controller.
inline Said cli(const ServerBench& bench, const std::string& words) {
  Said said;
  const std::string line =
      fmt::format("{} --controller {} {} 2>&1", program("railgauge"), bench.target(), words);
  FILE* pipe = ::popen(line.c_str(), "r");
  std::array<char, 4096> chunk{};
  for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
    said.text.append(chunk.data(), n);
  said.exit_code = WEXITSTATUS(::pclose(pipe));
  return said;
}

inline bool until(const std::function<bool()>& met, double seconds = 20) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (met()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

// The controller's view of a run.
inline api::RunDetail run_detail(api::Control::Stub& stub, const std::string& run_id) {
  grpc::ClientContext context;
  api::RunRef ref;
  ref.set_run_id(run_id);
  api::RunDetail detail;
  EXPECT_TRUE(stub.GetRun(&context, ref, &detail).ok());
  return detail;
}

}  // namespace railgauge::testing_agent
