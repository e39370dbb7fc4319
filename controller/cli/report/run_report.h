// What is printed when a run has ended: its figures, what did not pass, and its outcome.
#pragma once

#include "controller/api/control.pb.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/report.pb.h"

namespace railgauge::cli {

// Asks the controller for the run's tasks and points, prints them, and returns the outcome's exit
// code. ndjson prints nothing here: its events have told. Errors: the calls' own.
Result<int> report_run(Session& session, const std::string& run_id);

// The run's points as a report has them: the newest of very many.
Result<railgauge::api::ResultList> points_of_report(Session& session, const std::string& run_id);
// Fills in what follows from the points.
void compare_points(RunReport& report);
// Except as ndjson.
void print_report(const Output& output, const RunReport& report);

// What the ranks found worth telling, as a table with an empty line before it; "" for nothing.
std::string notes_table(const google::protobuf::RepeatedPtrField<railgauge::api::TaskDetail>& tasks,
                        bool colour);

// Which parameters' values the site profile gave, in the same form.
std::string site_defaults_table(
    const google::protobuf::RepeatedPtrField<railgauge::api::TaskDetail>& tasks, bool colour);

// "run r1 passed: 6 of 6 tasks ended (6 passed), 12 s".
std::string summary_line(const railgauge::api::RunSummary& run);

// The time between start and end, "" while it is not known.
std::string took_text(const railgauge::api::RunSummary& run);

}  // namespace railgauge::cli
