// What is wrong with a suite, told with file, line and key.
#pragma once

#include <ostream>

#include "controller/api/control.pb.h"
#include "controller/cli/input/session.h"

namespace railgauge::cli {

// A line for each problem, as compilers write them: "FILE:LINE:COLUMN: KEY: MESSAGE".
void print_problems(const railgauge::api::SuiteCheck& check, std::ostream& out);

// The controller's plan. When it refuses the suite, all of its problems are printed to
// session.output.err and the error says how many. Errors: the call's.
Result<railgauge::api::RunPlan> plan_run(Session& session,
                                         const railgauge::api::RunRequest& request);

}  // namespace railgauge::cli
