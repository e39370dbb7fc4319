// Writes and reads preflights, findings and operators' notes. The writers run inside the writer's
// transaction, the readers inside a snapshot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows/remark_rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// Replaces the node's preflight of that time. kNotFound: no such node or run; kInvalidArgument: a
// state that is none.
Status write_preflight(Connection& connection, const PreflightRow& preflight);
// kAlreadyExists: the id is taken; kNotFound: no such node, run or series; kInvalidArgument:
// evidence that is no JSON.
Status write_finding(Connection& connection, const FindingRow& finding);
// kNotFound: no such finding; kInvalidArgument: no such action; kFailedPrecondition: its state does
// not allow it.
Status write_finding_step(Connection& connection, std::string_view finding_id,
                          const FindingStepRow& step);
// The step, and what was found this time in place of what was before: figures, series, evidence,
// suspect and run. Errors: write_finding_step()'s and write_finding()'s.
Status write_finding_again(Connection& connection, const FindingRow& finding,
                           const FindingStepRow& step);
// kInvalidArgument: a kind that is none, or no text.
Status write_operator_note(Connection& connection, const OperatorNoteRow& note);

// Newest first, without series and steps; without a state those of any state.
Result<std::vector<FindingRow>> read_findings(Connection& connection,
                                              std::optional<FindingState> state,
                                              std::uint32_t limit);
// With its series and steps. kNotFound.
Result<FindingRow> read_finding(Connection& connection, std::string_view finding_id);
// The node's newest, or its newest for that run. kNotFound.
Result<PreflightRow> read_preflight(Connection& connection, std::string_view node_id,
                                    std::string_view run_id);
// The node's newest in [from, until). kNotFound.
Result<PreflightRow> read_preflight_between(Connection& connection, std::string_view node_id,
                                            double from, double until);
// Oldest first.
Result<std::vector<OperatorNoteRow>> read_operator_notes(Connection& connection,
                                                         std::string_view subject_kind,
                                                         std::string_view subject);

// The kind of the event that reports a run's counts to people.
inline constexpr std::string_view kMeasuredTwiceKind = "measured_twice";

// The counts of one run, or their sum over runs.
struct RepeatCounts {
  // Figures that were measured twice, of series with a past.
  std::int64_t figures = 0;
  // Figures among these that differ by more than the bound and their noise.
  std::int64_t apart = 0;
};
struct RepeatCountRow {
  std::string run_id{};
  // Unix seconds.
  double at = 0;
  RepeatCounts counts{};
};

// Stores the run's counts and an event with them. A run that has counts keeps the first ones.
Status write_repeat_counts(Connection& connection, const RepeatCountRow& row);
// Sums of the runs at or after `since` (unix seconds). Absent: no run measured anything twice.
Result<std::optional<RepeatCounts>> sum_repeat_counts(Connection& connection, double since);

}  // namespace railgauge::store
