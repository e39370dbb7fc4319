// Writes and reads preflights, findings and operators' notes. The writers run inside the writer's
// transaction, the readers inside a snapshot.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "controller/store/rows/remark_rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// Stores a preflight, in place of the node's preflight of the same time. kNotFound: no such node or
// run. kInvalidArgument: an unknown state.
Status write_preflight(Connection& connection, const PreflightRow& preflight);
// Stores a finding. kAlreadyExists: the id is taken. kNotFound: no such node, run or series.
// kInvalidArgument: the evidence is no JSON.
Status write_finding(Connection& connection, const FindingRow& finding);
// Stores a step of a finding. kNotFound: no such finding. kInvalidArgument: no such action.
// kFailedPrecondition: the finding's state does not allow the action.
Status write_finding_step(Connection& connection, std::string_view finding_id,
                          const FindingStepRow& step);
// Stores a step, and replaces the finding's figures, series, evidence, suspect and run by those of
// `finding`. Errors: those of write_finding_step() and write_finding().
Status write_finding_again(Connection& connection, const FindingRow& finding,
                           const FindingStepRow& step);
// Records that the run was judged, and how many findings came out of it: those whose newest
// evidence is this run, by their state. A run that is judged again keeps its first time and the
// larger number of confirmed ones. `at`: unix seconds. An unknown run is no error.
Status write_judged(Connection& connection, std::string_view run_id, double at);
// Returns runs that ended between the two times (unix seconds) and were not judged, oldest first.
Result<std::vector<std::string>> read_unjudged(Connection& connection, double since, double until);
// Stores a person's note. kInvalidArgument: an unknown kind of subject, or no text.
Status write_operator_note(Connection& connection, const OperatorNoteRow& note);

// Returns findings of a state (absent: of any), newest first, without series and steps.
Result<std::vector<FindingRow>> read_findings(Connection& connection,
                                              std::optional<FindingState> state,
                                              std::uint32_t limit);
// Returns a finding with its series and steps. kNotFound: no such finding.
Result<FindingRow> read_finding(Connection& connection, std::string_view finding_id);
// Returns the node's newest preflight, or its newest one for `run_id` unless that is "". kNotFound:
// there is none.
Result<PreflightRow> read_preflight(Connection& connection, std::string_view node_id,
                                    std::string_view run_id);
// Returns the node's newest preflight in [from, until), in unix seconds. kNotFound: there is none.
Result<PreflightRow> read_preflight_between(Connection& connection, std::string_view node_id,
                                            double from, double until);
// Returns the notes about a subject, oldest first.
Result<std::vector<OperatorNoteRow>> read_operator_notes(Connection& connection,
                                                         std::string_view subject_kind,
                                                         std::string_view subject);

}  // namespace railgauge::store
