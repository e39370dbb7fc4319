// The verbs about what is stored. Each returns the exit code, or the error that ends the program.
#pragma once

#include "controller/cli/input/arguments.h"
#include "controller/cli/input/session.h"

namespace railgauge::cli {

Result<int> show_history(Session& session, const Arguments& arguments);
Result<int> compare_runs(Session& session, const Arguments& arguments);
Result<int> export_points(Session& session, const Arguments& arguments);
Result<int> make_bundle(Session& session, const Arguments& arguments);
Result<int> run_sql(Session& session, const Arguments& arguments);
Result<int> database_stats(Session& session, const Arguments& arguments);
Result<int> database_check(Session& session, const Arguments& arguments);
Result<int> database_backup(Session& session, const Arguments& arguments);
Result<int> database_restore(Session& session, const Arguments& arguments);
Result<int> show_matrix(Session& session, const Arguments& arguments);
Result<int> show_suspects(Session& session, const Arguments& arguments);
Result<int> database_prune(Session& session, const Arguments& arguments);

}  // namespace railgauge::cli
