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

// One of the slowest pairs of a run; the ratio is below 1 where it is slower than its rail's
// median, in latency too.
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

// Nodes by state of their connection, as the fleet counts them now.
struct FleetCounts {
  std::uint32_t attached = 0;
  std::uint32_t detached = 0;
  std::uint32_t lost = 0;
  std::uint32_t busy = 0;
  double waiting_records = 0;  // in the agents' spools
};

// How a suite's newest run ended, and when its newest that passed did, in unix seconds.
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

// How many findings, or series that findings name, there are of each set of labels.
using LabelledCounts = std::map<metric::Labels, double>;

// Converts events and counts of the controller into series of the registry. A value that is set
// stays until it is set again.
class Metrics {
 public:
  Metrics();

  // A run ended at `unix_seconds`. `trigger`: "cli", "schedule" or "upgrade"; `outcome` as
  // stored with the run.
  void run_ended(const std::string& suite, const std::string& trigger, const std::string& outcome,
                 double unix_seconds);
  // Restores the ends of runs from the store. Where a suite has one already, the newer end stays.
  void restore_runs(std::span<const SuiteEnd> ends);
  // Gauges of the fleet; absent nodes come from the store and are set apart.
  void set_nodes(const FleetCounts& counts);
  // Figures that were measured twice, and of them those that differ; none: no rate is shown.
  void set_repeats(double figures, double apart);
  // All schedules there are; a schedule that is missing ends its series.
  void set_schedules(std::span<const ScheduleState> schedules);
  // Pairs and rails of one run, which ended at `unix_seconds`; they replace those of the run
  // before.
  void set_pairs(std::span<const WorstPair> worst, std::span<const RailFigure> rails,
                 double unix_seconds);
  // Reads memory, CPU time and descriptors of this process.
  void sample_process();

  // Every other metric: whoever knows the value sets it under the name and labels of its row.
  metric::Registry& series() { return registry_; }
  // The text exposition format.
  [[nodiscard]] std::string text() const { return registry_.text(); }

 private:
  void note(const SuiteEnd& end);  // this and the next two with mutex_ held
  void forget_suites();
  void show_ends();

  metric::Registry registry_{metric::Owner::kController};
  std::mutex mutex_;
  std::map<std::string, SuiteEnd> ends_{};  // by suite, as many as the catalog allows
  std::set<std::string> scheduled_{};       // suites that stay longest in it
};

}  // namespace railgauge
