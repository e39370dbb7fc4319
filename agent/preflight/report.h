// The results of all checks on one node, as the message that both programs show. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/preflight/rules/check.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Runs all checks and returns their results in the order of the table. A required id that is
// unknown is an error of its own. Every text is valid UTF-8. `seconds`: the time that reading the
// node took.
api::PreflightReport make_preflight_report(const std::string& node_name, const CheckInput& input,
                                           double seconds);

// Returns the ids that name no check, for an error message.
std::vector<std::string> unknown_checks(const std::vector<std::string>& ids);

}  // namespace railgauge::agent
