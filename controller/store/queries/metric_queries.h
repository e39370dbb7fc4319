// Queries behind the controller's metrics: aggregates over runs, findings, schedules and nodes.
// Each query runs in one snapshot of the connection and returns at most kMaxMetricRows rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// Bound of the label values of one metric.
inline constexpr std::uint32_t kMaxMetricRows = 20'000;

// The newest ended run of a suite. Times are unix seconds; 0 is never.
struct SuiteEndRow {
  std::string suite{};
  std::string outcome{};
  double ended_at = 0;
  double passed_at = 0;  // end of its newest run that passed
};

// Open findings of one kind, state and severity.
struct FindingCountRow {
  std::string kind{};
  std::string state{};  // as people see it: an expired acknowledgement is "reopened"
  std::string severity{};
  double findings = 0;
};

// The number of series of one kernel and metric that open findings name.
struct OpenSeriesRow {
  std::string kernel{};
  std::string metric{};
  double series = 0;
};

// A node as the last Hello of its agent described it.
struct MetricsPlaceRow {
  std::string node{};
  std::string address{};       // of its agent's stream
  std::string metrics_port{};  // "": its agent did not say
};

// A run with stored pair matrices.
struct PairRunRow {
  std::string run_id{};
  double at = 0;  // its end, or its creation while it has none
};

// Returns one row for each suite, the suite of the newest run first.
Result<std::vector<SuiteEndRow>> read_suite_ends(Connection& connection);
// Counts open findings by kind, state and severity. `now` (unix seconds) decides which
// acknowledgements have expired.
Result<std::vector<FindingCountRow>> count_open_findings(Connection& connection, double now);
// Returns the ids of the five confirmed findings that are to be looked at first: critical ones,
// then those with most loss. New ones of lost bytes and functions count as confirmed, and so does
// an acknowledgement that has expired at `now` (unix seconds).
Result<std::vector<std::string>> read_first_findings(Connection& connection, double now);
Result<std::vector<OpenSeriesRow>> count_open_series(Connection& connection);
// Returns the oldest stored due time by schedule name, in unix seconds.
Result<std::map<std::string, double>> read_first_dues(Connection& connection);
// Returns the names of nodes that were attached after `since` (unix seconds). Each name is there
// once, although a reinstalled node has several rows.
Result<std::vector<std::string>> read_names_seen_since(Connection& connection, double since);
// Returns where the metrics of nodes are that were attached after `since` (unix seconds), those
// seen last behind. A reinstalled node has several rows. The facts of each node are read.
Result<std::vector<MetricsPlaceRow>> read_metrics_places(Connection& connection, double since);
// Returns the newest run with a matrix of a rail; absent when no run has one.
Result<std::optional<PairRunRow>> read_newest_pair_run(Connection& connection);

}  // namespace railgauge::store
