// The report of a run that has ended: figures, tasks that did not pass, outcome.
#pragma once

#include "controller/api/control.pb.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/report.pb.h"

namespace railgauge::cli {

// Waits until the run was judged, asks the controller for its tasks, points and findings, and
// prints them. Returns the outcome's exit code, combined with kExitFailed where the run confirmed a
// finding. Prints nothing for ndjson, whose events were printed already. Errors: those of the
// calls.
Result<int> report_run(Session& session, const std::string& run_id);

// The newest kMostPoints points of the run. Errors: those of the call.
Result<api::ResultList> points_of_report(Session& session, const std::string& run_id);
// Adds the comparisons that follow from the points: placement and NCCL settings.
void compare_points(RunReport& report);
// Prints the report in the output's format; nothing for ndjson.
void print_report(const Output& output, const RunReport& report);

// The notes of all ranks, as a table with an empty line before it; "" for none.
std::string notes_table(const google::protobuf::RepeatedPtrField<api::TaskDetail>& tasks,
                        bool colour);

// The parameters whose values came from the site profile, in the same form.
std::string site_defaults_table(const google::protobuf::RepeatedPtrField<api::TaskDetail>& tasks,
                                bool colour);

// "run r1 passed: 6 of 6 tasks ended (6 passed), 12 s".
std::string summary_line(const api::RunSummary& run);

// The time between start and end, "" while it is not known.
std::string took_text(const api::RunSummary& run);

}  // namespace railgauge::cli
