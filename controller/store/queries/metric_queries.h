// Queries behind the controller's metrics: aggregates over runs, findings, schedules and nodes.
// Each runs in one snapshot of the connection and returns at most kMaxMetricRows rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// Bounds the labels that one metric can get.
inline constexpr std::uint32_t kMaxMetricRows = 20'000;

// The newest ended run of a suite. Times are unix seconds; 0 is never.
struct SuiteEndRow {
  std::string suite{};
  std::string outcome{};
  double ended_at = 0;
  // End of its newest run that passed.
  double passed_at = 0;
};

// Open findings of one kind, state and severity.
struct FindingCountRow {
  std::string kind{};
  // As people see it: an acknowledgement that has run out is "reopened"
  std::string state{};
  std::string severity{};
  double findings = 0;
};

// Series that open findings name, of one kernel and metric.
struct OpenSeriesRow {
  std::string kernel{};
  std::string metric{};
  double series = 0;
};

// A run with stored pair matrices.
struct PairRunRow {
  std::string run_id{};
  // Its end, or its creation while it has none.
  double at = 0;
};

// One row a suite, that of the newest run first.
Result<std::vector<SuiteEndRow>> read_suite_ends(Connection& connection);
// `now`: unix seconds, with which ends of acknowledgements are compared.
Result<std::vector<FindingCountRow>> count_open_findings(Connection& connection, double now);
Result<std::vector<OpenSeriesRow>> count_open_series(Connection& connection);
// By schedule name: the oldest due time that is stored, unix seconds.
Result<std::map<std::string, double>> read_first_dues(Connection& connection);
// Names of nodes that were attached after `since`, each once; a reinstalled node has several rows.
Result<std::vector<std::string>> read_names_seen_since(Connection& connection, double since);
// The newest run whose matrices belong to a rail; absent: there is none.
Result<std::optional<PairRunRow>> read_newest_pair_run(Connection& connection);

}  // namespace railgauge::store
