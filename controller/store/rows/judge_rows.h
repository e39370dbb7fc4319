// Rows that judging reads and writes, as plain values: stacks of nodes over time, upgrades with
// their two sides, and levels that people set. Times are seconds since 1970 (UTC) by the
// controller's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/store/rows/rows.h"
#include "controller/store/rows/stack_parts.h"
#include "controller/store/rows/states.h"

namespace railgauge::store {

// A stretch of time in which a node's stack did not change.
struct EpochRow {
  // Equal numbers are equal stacks.
  std::int64_t stack = 0;
  double valid_from = 0;
  // Absent: it is the present one.
  std::optional<double> valid_to{};
  // "first_seen", "stack_changed" or "hardware_replaced".
  std::string cause{};
  StackParts parts{};
};

// An endpoint that a node had, and does not have any more or has in another state.
struct EndpointStateRow {
  std::string node{};
  // "rxe0:1", "gpu0"
  std::string endpoint{};
  // The last one seen.
  std::string state{};
  // It was not there at the node's last attach.
  bool gone = false;
};

struct UpgradeNodeRow {
  std::string node_id{};
  // Its present name; filled in by the store.
  std::string node{};
  // Else a control.
  bool changed = false;
  // 0: none.
  std::int64_t stack_before = 0;
  // 0: not measured after yet.
  std::int64_t stack_after = 0;
};
struct UpgradeRunRow {
  std::string run_id{};
  bool after = false;
};
struct UpgradeRow {
  std::string upgrade_id{};
  std::string suite{};
  UpgradeState state = UpgradeState::kPrepared;
  std::string requested_by{};
  double created_at = 0;
  bool before_is_history = false;
  // "" not judged yet; here and below.
  std::string verdict{};
  std::string kind{};
  std::string reason{};
  // 0: not yet.
  double judged_at = 0;
  // JSON.
  std::string report{};
  std::vector<UpgradeNodeRow> nodes{};
  // Oldest first.
  std::vector<UpgradeRunRow> runs{};
};

// One figure of a task that passed: one fresh process.
struct SidePointRow {
  std::string run_id{};
  std::int64_t series = 0;
  // By the node's clock.
  double measured_at = 0;
  double median = 0;
  std::optional<double> p90{};
  std::optional<double> p99{};
  std::optional<double> p999{};
  bool synthetic = false;
  // Equal for what one rank of one attempt measured.
  std::int64_t launch = 0;
  // The second measurement of a pair that the run measured twice.
  bool again = false;
};
// The outcome of a task, to find functions that worked and do not any more.
struct SideTaskRow {
  std::string run_id{};
  std::string kernel{};
  // JSON, as planned.
  std::string parameters{};
  // By rank, by their present names.
  std::vector<std::string> nodes{};
  // By rank, "rxe0:1", by their present names.
  std::vector<std::string> endpoints{};
  // The outcome of the attempt that counts.
  std::string outcome{};
  std::string reason{};
  // Fact of the reporting rank; "" unknown.
  std::string path{};
};

// A level that a person has set, with what the series gives now.
struct BaselineRow {
  std::int64_t series_id = 0;
  // "golden" or "accepted".
  std::string kind{};
  double level = 0;
  std::uint32_t points = 0;
  double set_at = 0;
  std::string who{};
  std::string note{};
  // The finding that was accepted with it; "": none.
  std::string finding_id{};
  // Filled in by the store.
  SeriesRow series{};
  // Median of the newest points; filled in by the store.
  std::optional<double> now{};
};

}  // namespace railgauge::store
