// Rows of the judges, as plain values: stacks of nodes over time, upgrades with their two sides,
// and levels that people set. Times are seconds since 1970 (UTC) by the controller's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/states.h"
#include "controller/store/rows/rows.h"
#include "controller/store/rows/stack_parts.h"

namespace railgauge::store {

using api::UpgradeState;

// A stretch of time in which a node's stack did not change.
struct EpochRow {
  std::int64_t stack = 0;  // equal numbers are equal stacks
  double valid_from = 0;
  std::optional<double> valid_to{};  // absent: holds now
  std::string cause{};               // first_seen, stack_changed, hardware_replaced
  StackParts parts{};
};

// The last state of an endpoint, which may be gone.
struct EndpointStateRow {
  std::string node{};
  std::string endpoint{};  // "rxe0:1", "gpu0"
  std::string state{};     // the last one seen
  bool gone = false;       // missing at the node's last attach
};

struct UpgradeNodeRow {
  std::string node_id{};
  std::string node{};             // its present name; filled in by the store
  bool changed = false;           // else a control
  std::int64_t stack_before = 0;  // 0: none
  std::int64_t stack_after = 0;   // 0: not measured after yet
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
  std::string verdict{};  // "" before the verdict; so are the texts below
  std::string kind{};
  std::string reason{};
  double judged_at = 0;  // 0: not yet
  std::string report{};  // JSON
  std::vector<UpgradeNodeRow> nodes{};
  std::vector<UpgradeRunRow> runs{};  // oldest first
};

// One figure of a passed task, from one fresh process.
struct SidePointRow {
  std::string run_id{};
  std::int64_t series = 0;
  double measured_at = 0;  // by the node's clock
  double headline = 0;     // of a rate all that moved over all time, else the median
  double mean = 0;         // of all samples; 0: not kept
  std::optional<double> p90{};
  std::optional<double> p99{};
  std::optional<double> p999{};
  std::optional<double> slot_p10{};  // of a rate; so are the two below
  std::optional<double> slot_p1{};
  std::optional<double> pause_share{};
  bool synthetic = false;
  std::int64_t launch = 0;  // equal for what one rank of one attempt measured
  bool again = false;       // second figure of a pair that the run measured twice
  bool brief = false;       // a rate of less than kLeastJudgedNs, which no judge reads
};
// The outcome of a task, to find functions that were lost.
struct SideTaskRow {
  std::string run_id{};
  std::string kernel{};
  std::string parameters{};              // JSON, as planned
  std::vector<std::string> nodes{};      // by rank, by their present names
  std::vector<std::string> endpoints{};  // by rank, "rxe0:1", by their present names
  std::string outcome{};                 // of the attempt that counts
  std::string reason{};
  std::string path{};  // fact of the reporting rank; "" unknown
};

// A level that a person has set, with the present level of the series.
struct BaselineRow {
  std::int64_t series_id = 0;
  std::string kind{};  // golden, accepted
  double level = 0;
  std::uint32_t points = 0;
  double set_at = 0;
  std::string who{};
  std::string note{};
  std::string finding_id{};     // finding accepted with the level; "": none
  SeriesRow series{};           // filled in by the store
  std::optional<double> now{};  // median of the newest points; filled in by the store
};

}  // namespace railgauge::store
