// Preflights, findings and people's notes about measurements, as plain values. Times are seconds
// since 1970 (UTC) by the controller's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/store/rows/states.h"

namespace railgauge::store {

// One check of a preflight. States: pass, warn, fail, error, waived, unknown.
struct CheckRow {
  std::string check_id{};
  // The endpoint or pair it is about; "" the node.
  std::string subject{};
  std::string state{};
  std::string observed{};
  std::string why{};
  std::string remedy{};
};
// One pass of the checks over one node.
struct PreflightRow {
  std::string node_id{};
  // "": asked for by itself.
  std::string run_id{};
  double at = 0;
  // The worst of its checks; filled in by the store.
  std::string state{};
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
  // "opened", "confirm", "ack", "accept", "resolve", "dismiss", "reopen" or "comment".
  std::string action{};
  std::string text{};
  // The end of an acknowledgement; absent: it has none.
  std::optional<double> until{};
};
struct FindingRow {
  std::string finding_id{};
  std::string kind{};
  // Filled in by the store.
  FindingState state = FindingState::kNew;
  std::string severity{};
  // "" where it concerns none; here and below.
  std::string run_id{};
  std::string node_id{};
  std::string suspect{};
  // One line.
  std::string summary{};
  // JSON.
  std::string evidence = "{}";
  double opened_at = 0;
  // Filled in by the store.
  double changed_at = 0;
  // The upgrade that it belongs to; "": none.
  std::string upgrade_id{};
  // Fraction of the level before.
  std::optional<double> worse{};
  // The end of its acknowledgement; filled in by the store.
  std::optional<double> until{};
  std::vector<FindingSeriesRow> series{};
  // Filled in by the store.
  std::vector<FindingStepRow> steps{};
};

// A note that a person leaves for others.
struct OperatorNoteRow {
  double at = 0;
  std::string who{};
  // "node", "run", "series" or "fabric".
  std::string subject_kind{};
  // Its name or id; "" for the fabric.
  std::string subject{};
  std::string text{};
};

}  // namespace railgauge::store
