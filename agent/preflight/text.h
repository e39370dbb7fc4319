// A preflight report as `railgauge-agent --preflight` prints it for people. Pure.
#pragma once

#include <string>

#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// The verdict, what did not pass, the GPUDirect lines, what to do.
std::string preflight_text(const api::PreflightReport& report);

}  // namespace railgauge::agent
