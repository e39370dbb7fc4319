// Plans, problems of suites, and amounts of time and data as text.
#pragma once

#include <ostream>
#include <string>

#include "controller/api/control.pb.h"
#include "controller/cli/input/session.h"

namespace railgauge::cli {

// "suite quick: 6 tasks in 3 rounds on 3 nodes (n1 n2 n3), about 1.2 GB, about 2 min".
std::string plan_line(const api::RunPlan& plan);

// "0.8 s", "42 s", "3 min 20 s", "2 h 5 min"; "-" for what is negative or not finite.
std::string seconds_text(double seconds);

// "160 kB", "1.5 GB": an estimate's size in powers of 1000; "-" for what is negative or not finite.
std::string amount_text(double bytes);

// "1 node", "3 nodes".
std::string counted(std::size_t count, const std::string& noun);

// A line for each problem, as compilers write them: "FILE:LINE:COLUMN: KEY: MESSAGE".
void print_problems(const api::SuiteCheck& check, std::ostream& out);

// The controller's plan. When it refuses the suite, all of its problems are printed to
// session.output.err and the error says how many. Errors: the call's.
Result<api::RunPlan> plan_run(Session& session, const api::RunRequest& request);

}  // namespace railgauge::cli
