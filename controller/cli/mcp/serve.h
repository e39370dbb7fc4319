// The loop of `railgauge mcp`: lines in, lines out.
#pragma once

#include <ostream>

#include "controller/cli/input/interrupts.h"
#include "controller/cli/mcp/protocol.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli::mcp {

// Answers the lines of `input`, one after the other, until it ends, until `out` takes no more or
// until Ctrl-C or SIGTERM. Returns the exit code. kInternal: the input cannot be read.
Result<int> serve(Protocol& protocol, int input, std::ostream& out, Interrupts& interrupts);

}  // namespace railgauge::cli::mcp
