// Preflights, findings and people's notes about measurements, as plain values. Times are seconds
// since 1970 (UTC) by the controller's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/states.h"

namespace railgauge::store {

using api::FindingState;

// One check of a preflight. States: pass, warn, fail, error, waived, unknown.
struct CheckRow {
  std::string check_id{};
  std::string subject{};  // the endpoint or pair it is about; "" the node
  std::string state{};
  std::string observed{};
  std::string why{};
  std::string remedy{};
};
// One pass of the checks over one node.
struct PreflightRow {
  std::string node_id{};
  std::string run_id{};  // run that asked; "": a person asked
  double at = 0;
  std::string state{};  // the worst of its checks; filled in by the store
  std::vector<CheckRow> checks{};
};

// A series that moved, in its own unit.
struct FindingSeriesRow {
  std::int64_t series = 0;
  std::optional<double> before{};
  std::optional<double> after{};
};
struct FindingStepRow {
  double at = 0;
  std::string who{};
  std::string action{};  // one of queries/remarks.cc, or "opened"
  std::string text{};    // for people; of some actions a name: assign, tag, downstream, rerun
  std::optional<double> until{};  // of an ack: when it ends; absent: never
};
struct FindingRow {
  std::string finding_id{};
  std::string kind{};
  FindingState state = FindingState::kNew;  // filled in by the store
  std::string severity{};
  std::string run_id{};  // "": the finding concerns no run; likewise node_id
  std::string node_id{};
  std::string suspect{};
  std::string summary{};        // one line
  std::string evidence = "{}";  // JSON
  double opened_at = 0;
  double changed_at = 0;          // filled in by the store
  std::string upgrade_id{};       // "": the finding belongs to no upgrade
  std::optional<double> worse{};  // fraction of the level before
  std::optional<double> until{};  // of an acknowledged one; filled in by the store
  std::vector<FindingSeriesRow> series{};
  std::vector<FindingStepRow> steps{};  // filled in by the store
  // By its steps; filled in by the store.
  std::string owner{};
  std::vector<std::string> tags{};  // by name
  std::string caused_by{};          // of a downstream one: the id of a finding, or words
  bool is_cause_over = false;       // `caused_by` is a finding that is closed
  bool is_measured_again = false;   // runs were started for it
};

// Reports whether a run that shows the finding opens it again, however slow it is: what ended it,
// or what it was the effect of, is not there any more.
inline bool opens_when_seen(const FindingRow& finding) {
  return api::is_mended(finding.state) ||
         (finding.state == FindingState::kDownstream && finding.is_cause_over);
}

// A note that a person leaves for others.
struct OperatorNoteRow {
  double at = 0;
  std::string who{};
  std::string subject_kind{};  // node, run, series, fabric
  std::string subject{};       // its name or id; "" for the fabric
  std::string text{};
};

}  // namespace railgauge::store
