// How long after its node became busy a task's runner is gone, by what made the node busy: the
// agent with its own times, a controller's end of the stream, real runner processes, one that
// listens and one that ignores TERM. The node is a tree of files, NVML and kubelet are fakes
// (synthetic); the times are real. Prints a table; asserts nothing.
//   yield_bench [ROUNDS]
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "agent/testing/agent_fixture.h"
#include "agent/testing/fake_kubelet.h"
#include "kernels/dl/nvml.h"
#include "kernels/fakes/nvml/fake_nvml.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;
double now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The kubelet's v1 List: a pod's container with one device of nvidia.com/gpu.
constexpr std::string_view kOnePod{
    "\x0a\x20\x0a\x01p\x12\x01n\x1a\x18\x0a\x01"
    "c\x12\x13\x0a\x0envidia.com/gpu\x12\x01"
    "1",
    34};

// Whether a runner of ours lives; one that is dead and not yet reaped has no program any more.
bool runner_lives() {
  const std::string ours = std::to_string(::getpid());
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string pid, name, state, parent;
    if (!(file >> pid >> name >> state >> parent) || parent != ours) continue;
    std::error_code error;
    if (fs::read_symlink(entry.path() / "exe", error) == SCRIPTED_RUNNER) return true;
  }
  return false;
}

bool wait_until(const std::function<bool()>& met) {
  for (const double end = now() + 60; now() < end; ::usleep(2000))
    if (met()) return true;
  return false;
}

struct Took {
  double gone = 0;  // the runner, s after the node became busy
  double told = 0;  // the controller heard of the task's end
};

class Round : public AgentTest {
 public:
  Round() {
    folder_.write("proc/loadavg", "0.00 0.00 0.00 1/1 1\n");
    folder_.write("proc/4242/comm", "train\n");
    folder_.write("proc/4242/stat", "4242 (train) S 1 4242 4242 0 -1 0 0 0 0 0 0 0 0 0\n");
    fs::create_directories(folder_ / "jobs");
    folder_.write("hook", "#!/bin/sh\n[ ! -e " + folder_ / "hooked" + " ] || exit 1\n");
    folder_.write("slow_hook", "#!/bin/sh\n[ -e " + folder_ / "hooked" +
                                   " ]\nidle=$?\nsleep 0.6\n[ $idle = 1 ]\n");
    for (const char* hook : {"hook", "slow_hook"})
      fs::permissions(folder_ / hook, fs::perms::owner_all);
    fake::nvml_control().reset();
  }
  void TestBody() override {}

  // -1: something did not come to pass within a minute.
  Took take(const std::string& sources, const std::string& cause, const std::string& script,
            double phase_seconds) {
    AgentOptions given = options();
    given.supervisor.task = TaskOptions{};
    given.supervisor.task.runner = SCRIPTED_RUNNER;
    given.supervisor.task.confinement.keeper = KEEPER;
    given.busy.sources = sources;
    given.busy.marker = folder_ / "busy";
    given.busy.jobs_folder = folder_ / "jobs";
    given.busy.kubelet_socket = folder_ / "kubelet.sock";
    given.busy.hook = folder_ / (cause == "hook of 0.6 s" ? "slow_hook" : "hook");
    start(given);
    // Its runner for the list of kernels is gone by now or soon; then the task's own.
    if (!wait_until([] { return !runner_lives(); })) return {-1, -1};
    prepare("t1", script);
    if (!wait_until(runner_lives)) return {-1, -1};
    ::usleep(static_cast<useconds_t>(1e6 * (0.5 + phase_seconds)));
    const double began = now();
    become_busy(cause);
    if (!wait_until([] { return !runner_lives(); })) return {-1, -1};
    const double gone = now() - began;
    const auto has_end = [](const Heard& heard) {
      return any(heard, &api::AgentMessage::has_ended) ||
             any(heard, &api::AgentMessage::has_refusal);
    };
    return until(has_end) ? Took{gone, now() - began} : Took{-1, -1};
  }

 private:
  void become_busy(const std::string& cause) {
    if (cause == "marker") folder_.write("busy", "a job\n");
    if (cause == "prolog's file") folder_.write("jobs/42", "");
    if (cause == "control group")
      fs::create_directories(folder_ / "sys/fs/cgroup/system.slice/slurmstepd.scope/job_42/step_0");
    if (cause == "load") folder_.write("proc/loadavg", "4096.00 0.00 0.00 1/1 1\n");
    if (cause == "gpu process") fake::nvml_control().busy_pid = 4242;
    if (cause == "kubelet") kubelet_.set({.bytes = std::string(kOnePod)});
    if (cause.starts_with("hook")) folder_.write("hooked", "");
  }
  FakeKubelet kubelet_{folder_ / "kubelet.sock", ""};
};

bool measure(const std::string& sources, const std::string& cause, const std::string& script,
             int rounds) {
  std::mt19937 random(6);
  std::vector<double> gone, told;
  for (int i = 0; i < rounds; ++i) {
    const Took took =
        Round().take(sources, cause, script, std::uniform_real_distribution<>(0, 1)(random));
    if (took.gone < 0) {
      std::printf("%-13s  round %d: the runner did not come, or did not go, within 60 s\n",
                  cause.c_str(), i);
      return false;
    }
    gone.push_back(took.gone);
    told.push_back(took.told);
  }
  std::ranges::sort(gone);
  std::ranges::sort(told);
  const auto middle = static_cast<std::size_t>(rounds / 2);
  std::printf("%-13s  %-8s  %-12s  %6d  %6.2f  %6.2f  %6.2f  %6.2f  %6.2f\n", cause.c_str(),
              sources.find(',') == std::string::npos ? "alone" : "all",
              script.empty() ? "listens" : "ignores TERM", rounds, gone.front(), gone[middle],
              gone.back(), told[middle], told.back());
  std::fflush(stdout);
  return true;
}

}  // namespace
}  // namespace railgauge::agent

int main(int argc, char** argv) {
  using namespace railgauge::agent;
  int rounds = 10;
  if (argc > 1) std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), rounds);
  if (rounds < 1) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  ::setenv(railgauge::kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1);
  std::printf("s from the node becoming busy to the runner gone, and to its end told\n");
  std::printf("%-13s  %-8s  %-12s  %6s  %6s  %6s  %6s  %6s  %6s\n", "cause", "sources", "runner",
              "rounds", "least", "median", "most", "told", "most");
  const std::vector<std::pair<std::string, std::string>> causes{
      {"marker", "marker"}, {"slurm", "prolog's file"}, {"slurm", "control group"},
      {"load", "load"},     {"gpu", "gpu process"},     {"kubernetes", "kubelet"},
      {"hook", "hook"},     {"hook", "hook of 0.6 s"}};
  const std::string all = "marker,slurm,load,gpu,kubernetes,hook";
  bool done = true;
  for (const std::string script : {"", "hang_ignoring_term"}) {
    for (const auto& [source, cause] : causes)
      done = measure(source, cause, script, rounds) && done;
    done = measure(all, "hook", script, rounds) && done;
  }
  return done ? 0 : 1;
}
