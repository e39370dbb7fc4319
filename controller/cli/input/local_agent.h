// The agent of this host, asked without a controller.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::cli {

// What railgauge-agent, which stands beside this program or in PATH, printed to stdout; its stderr
// is this program's. Its exit code says what it found, so it is no error. Errors: kNotFound when it
// cannot be started, kUnavailable when a signal ended it, kResourceExhausted when it prints too
// much.
Result<std::string> ask_local_agent(const std::vector<std::string>& arguments);

}  // namespace railgauge::cli
