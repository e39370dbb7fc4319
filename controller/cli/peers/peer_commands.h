// `runs show RUN --as TOOL`: the commands with which another tool measures the same as a run.
#pragma once

#include "controller/api/control.pb.h"
#include "controller/cli/render/output.h"
#include "controller/cli/render/report.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli {

// Returns the tool's command lines for each task, or the reason why a task has none.
// kInvalidArgument: an unknown tool. Pure.
Result<PeerCommands> peer_commands(const api::RunDetail& detail, const std::string& tool);

void print_peer_commands(const Output& output, const PeerCommands& commands);

}  // namespace railgauge::cli
