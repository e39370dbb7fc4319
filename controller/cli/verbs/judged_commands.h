// The verbs about what is judged: upgrades, findings, baselines.
#pragma once

#include "controller/cli/input/arguments.h"
#include "controller/cli/input/session.h"

namespace railgauge::cli {

Result<int> prepare_upgrade(Session& session, const Arguments& arguments);
// Exit codes: 0 pass, 1 regressed, 3 inconclusive, 4 everything that is no statement.
Result<int> gate_upgrade(Session& session, const Arguments& arguments);
Result<int> list_upgrades(Session& session, const Arguments& arguments);
Result<int> show_upgrade(Session& session, const Arguments& arguments);
Result<int> list_findings(Session& session, const Arguments& arguments);
Result<int> show_finding(Session& session, const Arguments& arguments);
Result<int> acknowledge_finding(Session& session, const Arguments& arguments);
Result<int> accept_finding(Session& session, const Arguments& arguments);
Result<int> resolve_finding(Session& session, const Arguments& arguments);
Result<int> reopen_finding(Session& session, const Arguments& arguments);
Result<int> list_baselines(Session& session, const Arguments& arguments);
Result<int> pin_baselines(Session& session, const Arguments& arguments);
Result<int> diff_baselines(Session& session, const Arguments& arguments);

}  // namespace railgauge::cli
