// A preflight report as `railgauge-agent --preflight` prints it for people. Pure.
#pragma once

#include <string>

#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Returns the verdict, the checks that did not pass, the GPUDirect lines and the remedies.
std::string preflight_text(const api::PreflightReport& report);

}  // namespace railgauge::agent
