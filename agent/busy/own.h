// The processes of the node that belong to Railgauge (the agent and its descendants, also recently
// ended ones) and their share of the load average. Found by parents, process groups and sessions in
// /proc: a descendant may leave its group or lose its parent, but hardly both. Not thread safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::agent {

// A line of /proc/PID/stat.
struct ProcessFacts {
  int parent = 0;
  int group = 0;
  int session = 0;
  double cpu_ticks = 0;  // of all its threads
};
// Parses /proc/PID/stat; absent if the text is no such line. Pure.
std::optional<ProcessFacts> parse_process_stat(std::string_view text);

// The one-minute load average of some processes: the kernel's exponential window over the number of
// CPUs that they keep busy. Pure.
class OwnLoad {
 public:
  void update(double cpus, double seconds);  // the CPUs in use over the last `seconds`
  [[nodiscard]] double value() const { return value_; }

 private:
  double value_ = 0;
};

// The pids that belong to Railgauge.
class OwnProcesses {
 public:
  // A process that ended is remembered for this long, in seconds.
  static constexpr double kMemorySeconds = 5;
  // The effect of a process on a GPU's utilisation fades within this time, in seconds.
  static constexpr double kAfterglowSeconds = 2;

  // `self` is the agent's pid in the namespace of `proc_root`.
  OwnProcesses(std::string proc_root, int self);

  // Sets the runners that live now. Call it before a look.
  void update(std::span<const int> runners, double now_seconds);
  [[nodiscard]] bool owns(int pid);
  // Whether /proc has the pid at all: NVML may report pids of another namespace.
  [[nodiscard]] bool shows(int pid) const;
  [[nodiscard]] std::string name_of(int pid) const;
  [[nodiscard]] bool ran_lately(double now_seconds) const;
  [[nodiscard]] std::size_t runners() const { return runners_.size(); }
  [[nodiscard]] double load() const { return load_.value(); }

 private:
  [[nodiscard]] std::optional<ProcessFacts> facts_of(int pid) const;
  // A runner's keeper, the runner, and its own children; the pid alone where Linux lists no
  // children.
  [[nodiscard]] std::vector<int> family_of(int pid) const;
  [[nodiscard]] bool climbs_to_us(int pid) const;

  std::string proc_root_;
  int self_;
  std::set<int> runners_;
  std::map<int, double> remembered_;  // own pids, with the time at which each was last seen
  std::map<int, double> cpu_ticks_;   // of the runners and their families
  double updated_ = -1;
  double ran_at_ = -1e18;
  OwnLoad load_;
};

}  // namespace railgauge::agent
