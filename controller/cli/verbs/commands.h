// The verbs, one file a noun. Each returns the exit code, or the error that ends the program.
#pragma once

#include "controller/cli/input/arguments.h"
#include "controller/cli/input/session.h"

namespace railgauge::cli {

// THE list of verbs, with their flags.
Grammar grammar();

Result<int> list_nodes(Session& session, const Arguments& arguments);
Result<int> show_node(Session& session, const Arguments& arguments);
Result<int> diff_node_sets(Session& session, const Arguments& arguments);
Result<int> show_topology(Session& session, const Arguments& arguments);
Result<int> list_kernels(Session& session, const Arguments& arguments);
Result<int> show_kernel(Session& session, const Arguments& arguments);
Result<int> list_suites(Session& session, const Arguments& arguments);
Result<int> show_suite(Session& session, const Arguments& arguments);
Result<int> check_suite(Session& session, const Arguments& arguments);
Result<int> plan_suite(Session& session, const Arguments& arguments);
Result<int> run_suite(Session& session, const Arguments& arguments);
Result<int> list_runs(Session& session, const Arguments& arguments);
Result<int> show_run(Session& session, const Arguments& arguments);
Result<int> wait_run(Session& session, const Arguments& arguments);
Result<int> resume_run(Session& session, const Arguments& arguments);
Result<int> cancel_run_verb(Session& session, const Arguments& arguments);
Result<int> show_preflight(Session& session, const Arguments& arguments);
Result<int> show_results(Session& session, const Arguments& arguments);
Result<int> list_schedules(Session& session, const Arguments& arguments);
Result<int> show_schedule(Session& session, const Arguments& arguments);
Result<int> add_schedule(Session& session, const Arguments& arguments);
Result<int> pause_schedule(Session& session, const Arguments& arguments);
Result<int> resume_schedule(Session& session, const Arguments& arguments);
Result<int> run_schedule_now(Session& session, const Arguments& arguments);
Result<int> remove_schedule(Session& session, const Arguments& arguments);
Result<int> print_completion(Session& session, const Arguments& arguments);
Result<int> analyze_files(Session& session, const Arguments& arguments);
Result<int> show_metrics(Session& session, const Arguments& arguments);
Result<int> show_version(Session& session, const Arguments& arguments);

}  // namespace railgauge::cli
