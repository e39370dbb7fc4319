#include "controller/metric/controller_metrics.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "controller/metric/process.h"
#include "kernels/core/base/outcome.h"

namespace railgauge {
namespace {
constexpr const char* kNodes = "railgauge_nodes";
constexpr const char* kLastEnd = "railgauge_run_last_end_timestamp_seconds";

// "" for a figure without a rail, as labels have it.
std::string rail_text(std::int32_t rail) { return rail < 0 ? "" : fmt::format("{}", rail); }
}  // namespace

// Sets what must be there at the first scrape, so that no alert sees an absent series.
Metrics::Metrics() {
  registry_.set("railgauge_controller_info", {{"version", RAILGAUGE_VERSION}}, 1);
  set_nodes({});
  registry_.set(kNodes, {{"state", "absent"}}, 0);
  sample_process();
}

// Counts the run and shows it as its suite's newest.
void Metrics::run_ended(const std::string& suite, const std::string& trigger,
                        const std::string& outcome, double unix_seconds) {
  registry_.add("railgauge_runs_total", {{"trigger", trigger}, {"outcome", outcome}});
  SuiteEnd end{.suite = suite, .outcome = outcome, .unix_seconds = unix_seconds};
  if (outcome == kPassed) end.passed_unix_seconds = unix_seconds;
  restore_runs({&end, 1});
}

// Takes the ends in any order; the newest of each suite stays.
void Metrics::restore_runs(std::span<const SuiteEnd> ends) {
  const std::lock_guard lock(mutex_);
  for (const SuiteEnd& end : ends) note(end);
  forget_suites();
  show_ends();
}

// Keeps the newest end and the newest pass of a suite apart: an alert needs the age of the last
// pass.
void Metrics::note(const SuiteEnd& end) {
  SuiteEnd& known = ends_[end.suite];
  known.suite = end.suite;
  if (end.passed_unix_seconds)
    known.passed_unix_seconds =
        std::max(*end.passed_unix_seconds, known.passed_unix_seconds.value_or(0));
  if (end.unix_seconds < known.unix_seconds) return;
  known.outcome = end.outcome;
  known.unix_seconds = end.unix_seconds;
}

// Anybody may name a suite, so the number of names is bounded. Suites of schedules stay first, then
// those that ran last: otherwise one day of acceptance runs would hide the nightly run from its
// alerts.
void Metrics::forget_suites() {
  const std::size_t most = metric::find(kLastEnd)->most;
  if (ends_.size() <= most) return;
  std::vector<std::tuple<bool, double, std::string>> order;
  for (const auto& [suite, end] : ends_)
    order.emplace_back(scheduled_.contains(suite), end.unix_seconds, suite);
  std::ranges::sort(order);
  order.resize(order.size() - most);
  for (const auto& [scheduled, unix_seconds, suite] : order) ends_.erase(suite);
}

// Replaces whole families, so that series of forgotten suites end.
void Metrics::show_ends() {
  std::map<metric::Labels, double> outcomes;
  std::map<metric::Labels, double> times;
  std::map<metric::Labels, double> successes;
  for (const auto& [suite, end] : ends_) {
    outcomes[{{"suite", suite}, {"outcome", end.outcome}}] = 1;
    times[{{"suite", suite}}] = end.unix_seconds;
    if (end.passed_unix_seconds) successes[{{"suite", suite}}] = *end.passed_unix_seconds;
  }
  registry_.replace("railgauge_run_last_outcome", outcomes);
  registry_.replace(kLastEnd, times);
  registry_.replace("railgauge_run_last_success_timestamp_seconds", successes);
}

void Metrics::set_nodes(const FleetCounts& counts) {
  registry_.set(kNodes, {{"state", "attached"}}, counts.attached);
  registry_.set(kNodes, {{"state", "detached"}}, counts.detached);
  registry_.set(kNodes, {{"state", "lost"}}, counts.lost);
  registry_.set("railgauge_nodes_busy", {}, counts.busy);
  registry_.set("railgauge_nodes_paused", {}, counts.paused);
  registry_.set("railgauge_nodes_clock_off", {}, counts.clocks_off);
  registry_.set("railgauge_node_clock_skew_seconds", {}, counts.clock_skew_seconds);
  registry_.set("railgauge_agents_waiting_records", {}, counts.waiting_records);
}

// Without repeated figures the ratio has no series.
void Metrics::set_repeats(double figures, double apart) {
  constexpr const char* kRatio = "railgauge_judge_false_alarm_ratio";
  registry_.set("railgauge_judge_repeated_figures", {}, figures);
  if (figures > 0)
    registry_.set(kRatio, {}, apart / figures);
  else
    registry_.replace(kRatio, {});  // a rate of 0 would be a statement
}

// A schedule without any due time so far has no result and no last due time.
void Metrics::set_schedules(std::span<const ScheduleState> schedules) {
  std::map<metric::Labels, double> enabled;
  std::map<metric::Labels, double> results;
  std::map<metric::Labels, double> dues;
  std::map<metric::Labels, double> pauses;
  std::map<metric::Labels, double> first_dues;
  std::set<std::string> suites;
  for (const ScheduleState& one : schedules) {
    suites.insert(one.suite);
    const metric::Labels labels{{"schedule", one.name}, {"suite", one.suite}};
    enabled[labels] = one.enabled ? 1 : 0;
    if (one.pause_seconds) pauses[labels] = *one.pause_seconds;
    if (one.first_due_unix_seconds) first_dues[labels] = *one.first_due_unix_seconds;
    if (one.result.empty()) continue;
    results[{{"schedule", one.name}, {"result", one.result}}] = 1;
    dues[{{"schedule", one.name}}] = one.due_unix_seconds;
  }
  registry_.replace("railgauge_schedule_enabled", enabled);
  registry_.replace("railgauge_schedule_last_result", results);
  registry_.replace("railgauge_schedule_last_due_timestamp_seconds", dues);
  registry_.replace("railgauge_schedule_pause_seconds", pauses);
  registry_.replace("railgauge_schedule_first_due_timestamp_seconds", first_dues);
  const std::lock_guard lock(mutex_);
  scheduled_ = std::move(suites);
}

// All families of pairs change together, so that a dashboard never mixes two runs.
void Metrics::set_pairs(std::span<const WorstPair> worst, std::span<const RailFigure> rails,
                        double unix_seconds) {
  std::map<metric::Labels, double> ratios;
  for (const WorstPair& pair : worst)
    ratios[{{"kernel", pair.kernel},
            {"from", pair.from},
            {"to", pair.to},
            {"rail", rail_text(pair.rail)},
            {"memory", pair.memory}}] = pair.ratio;
  registry_.replace("railgauge_worst_pair_ratio", ratios);
  std::map<metric::Labels, double> bandwidths;
  std::map<metric::Labels, double> latencies;
  for (const RailFigure& figure : rails) {
    metric::Labels labels{{"kernel", figure.kernel},
                          {"rail", rail_text(figure.rail)},
                          {"memory", figure.memory},
                          {"distance", figure.distance},
                          {"stat", "p50"}};
    auto& values = figure.is_latency ? latencies : bandwidths;
    values[labels] = figure.median;
    labels["stat"] = figure.is_latency ? "p99" : "p01";
    values[labels] = figure.worst_percent;
  }
  registry_.replace("railgauge_fabric_bandwidth_bytes_per_second", bandwidths);
  registry_.replace("railgauge_fabric_latency_seconds", latencies);
  registry_.set("railgauge_pairs_timestamp_seconds", {}, unix_seconds);
}

void Metrics::sample_process() { metric::sample_process(registry_); }

}  // namespace railgauge
