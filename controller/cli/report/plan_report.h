// Plans, problems of suites, and amounts of time and data as text.
#pragma once

#include <ostream>
#include <string>

#include "controller/api/control.pb.h"
#include "controller/cli/input/session.h"

namespace railgauge::cli {

// Returns "suite quick: 6 tasks in 3 rounds on 3 nodes (n1 n2 n3), about 1.2 GB, about 2 min".
std::string plan_line(const api::RunPlan& plan);

// Returns "0.8 s", "42 s", "3 min 20 s" or "2 h 5 min"; "-" for a negative or not finite value.
std::string seconds_text(double seconds);

// Returns an estimate's size in powers of 1000: "160 kB", "1.5 GB"; "-" for a negative or not
// finite value.
std::string amount_text(double bytes);

// Returns "1 node" or "3 nodes".
std::string counted(std::size_t count, const std::string& noun);

// A line for each problem, as compilers write them: "FILE:LINE:COLUMN: KEY: MESSAGE".
void print_problems(const api::SuiteCheck& check, std::ostream& out);

// Requests the controller's plan. If the controller refuses the suite, prints all problems to
// session.output.err; the error has their number. Errors: the call's.
Result<api::RunPlan> plan_run(Session& session, const api::RunRequest& request);

}  // namespace railgauge::cli
