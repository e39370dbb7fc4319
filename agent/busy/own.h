// Which processes of the node are Railgauge's own: the agent, whatever it started and all below
// that, also what has just gone; and how much of the load average they are. By parents, process
// groups and sessions as /proc shows them: one below a runner may have left its group, or lost its
// parent, but hardly both. Not thread safe.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace railgauge::agent {

struct ProcessFacts {
  int parent = 0;
  int group = 0;
  int session = 0;
  double cpu_ticks = 0;  // of all its threads
};
// Parses /proc/PID/stat; nothing when it is no such line. Pure.
std::optional<ProcessFacts> parse_process_stat(std::string_view text);

// The one-minute load average of processes that used so much CPU time: the same exponential window,
// fed with the CPUs that they kept busy. Pure.
class OwnLoad {
 public:
  void update(double cpus, double seconds);  // the CPUs in use over the last `seconds`
  [[nodiscard]] double value() const { return value_; }

 private:
  double value_ = 0;
};

class OwnProcesses {
 public:
  static constexpr double kMemorySeconds = 5;     // one that has gone is remembered so long
  static constexpr double kAfterglowSeconds = 2;  // and what it did to a GPU fades within this

  // `self` is the agent's pid as `proc_root` counts.
  OwnProcesses(std::string proc_root, int self);

  // The runners that live now. To be called before a look.
  void update(std::span<const int> runners, double now_seconds);
  [[nodiscard]] bool owns(int pid);
  // Whether /proc has it at all: NVML may count by another namespace's numbers.
  [[nodiscard]] bool shows(int pid) const;
  [[nodiscard]] std::string name_of(int pid) const;
  [[nodiscard]] bool ran_lately(double now_seconds) const;
  [[nodiscard]] std::size_t runners() const { return runners_.size(); }
  [[nodiscard]] double load() const { return load_.value(); }

 private:
  [[nodiscard]] std::optional<ProcessFacts> facts_of(int pid) const;
  [[nodiscard]] bool climbs_to_us(int pid) const;

  std::string proc_root_;
  int self_;
  std::set<int> runners_;
  std::map<int, double> remembered_;  // pids of ours, with when they were last seen to be
  std::map<int, double> cpu_ticks_;   // of the runners
  double updated_ = -1;
  double ran_at_ = -1e18;
  OwnLoad load_;
};

}  // namespace railgauge::agent
