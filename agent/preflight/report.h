// All checks over one node, as the message that both programs show. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/preflight/rules/check.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Results in the order of the table; a required id that is no check's is an error of its own. Every
// text is valid UTF-8. `seconds`: what reading the node took.
api::PreflightReport make_preflight_report(const std::string& node_name, const CheckInput& input,
                                           double seconds);

// Ids that are no check's, for an error message.
std::vector<std::string> unknown_checks(const std::vector<std::string>& ids);

}  // namespace railgauge::agent
