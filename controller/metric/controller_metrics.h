// The controller's metrics for Prometheus; controller/metric/catalog.h lists them. Values are
// pushed here as they change; a scrape reads memory only. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "controller/metric/registry.h"

namespace railgauge {

// One of the slowest pairs of a run. `ratio` is relative to the rail's median; below 1 is slower,
// also for a latency.
struct WorstPair {
  std::string kernel{};
  std::string from{};
  std::string to{};
  std::int32_t rail = -1;
  std::string memory{};
  double ratio = 0;
};

// Figures of the pairs of one rail, memory and distance.
struct RailFigure {
  std::string kernel{};
  bool is_latency = false;
  std::int32_t rail = -1;
  std::string memory{};
  std::string distance{};  // "same_leaf", "cross_leaf", "unknown"
  double median = 0;       // bytes per second, or seconds; likewise below
  double worst_percent = 0;
};

// Present numbers of nodes by the state of their connection.
struct FleetCounts {
  std::uint32_t attached = 0;
  std::uint32_t detached = 0;
  std::uint32_t lost = 0;
  std::uint32_t busy = 0;
  std::uint32_t paused = 0;       // in maintenance, attached or not
  std::uint32_t clocks_off = 0;   // attached nodes whose clock is off
  double clock_skew_seconds = 0;  // the largest of them, without its sign
  double waiting_records = 0;     // in the agents' spools
};

// The outcome and end of a suite's newest run, and the end of its newest passed run; unix seconds.
struct SuiteEnd {
  std::string suite{};
  std::string outcome{};
  double unix_seconds = 0;
  std::optional<double> passed_unix_seconds{};
};

// One schedule with its newest due time. Times are unix seconds.
struct ScheduleState {
  std::string name{};
  std::string suite{};
  bool enabled = false;
  std::string result{};  // of the newest due time; "": there was none
  double due_unix_seconds = 0;
  std::optional<double> pause_seconds{};           // longest between two starts
  std::optional<double> first_due_unix_seconds{};  // oldest due time that is known
};

// Numbers of findings, or of series that findings name, by set of labels.
using LabelledCounts = std::map<metric::Labels, double>;

// Converts events and counts of the controller into series of the registry. A value that is set
// stays until it is set again.
class Metrics {
 public:
  Metrics();

  // A run ended at `unix_seconds`. `trigger`: as RunRow::trigger; `outcome` as
  // stored with the run.
  void run_ended(const std::string& suite, const std::string& trigger, const std::string& outcome,
                 double unix_seconds);
  // Restores the ends of runs from the store. If a suite already has an end, the newer one stays.
  void restore_runs(std::span<const SuiteEnd> ends);
  // Sets the gauges of the fleet. Absent nodes are set separately, from the store.
  void set_nodes(const FleetCounts& counts);
  // Sets the number of figures that were measured twice, and the number of these that differ.
  // Without figures, no rate is exported.
  void set_repeats(double figures, double apart);
  // Sets all schedules; the series of a missing schedule end.
  void set_schedules(std::span<const ScheduleState> schedules);
  // Sets the pairs and rails of one run, which ended at `unix_seconds`, in place of those of the
  // previous run.
  void set_pairs(std::span<const WorstPair> worst, std::span<const RailFigure> rails,
                 double unix_seconds);
  // Reads memory, CPU time and descriptors of this process.
  void sample_process();

  // Returns the registry for every other metric: the owner of a value sets it by the name and
  // labels of its row.
  metric::Registry& series() { return registry_; }
  // Returns all series in the text exposition format.
  [[nodiscard]] std::string text() const { return registry_.text(); }

 private:
  void note(const SuiteEnd& end);  // this and the next two with mutex_ held
  void forget_suites();
  void show_ends();

  metric::Registry registry_{metric::Owner::kController};
  std::mutex mutex_;
  std::map<std::string, SuiteEnd> ends_{};  // by suite, as many as the catalog allows
  std::set<std::string> scheduled_{};       // suites that are forgotten last
};

}  // namespace railgauge
