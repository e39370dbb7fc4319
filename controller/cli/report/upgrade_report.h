// One upgrade on one screen.
#pragma once

#include <string>

#include "controller/api/judge.pb.h"
#include "controller/cli/render/output.h"

namespace railgauge::cli {

// What, where, how much, since when, why, what it was not, what to do next.
std::string upgrade_text(const railgauge::api::Upgrade& upgrade, bool colour);

// DESIGN's exit code of a verdict; 4 where there is none.
int exit_code_of_verdict(const railgauge::api::Upgrade& upgrade);

}  // namespace railgauge::cli
