// `runs show RUN --as TOOL`: how another tool would measure what a run measured.
#pragma once

#include "controller/api/control.pb.h"
#include "controller/cli/render/output.h"
#include "controller/cli/render/report.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli {

// The tools' command lines for each task, or why there is none. kInvalidArgument for a tool that is
// not known. Pure.
Result<PeerCommands> peer_commands(const api::RunDetail& detail, const std::string& tool);

void print_peer_commands(const Output& output, const PeerCommands& commands);

}  // namespace railgauge::cli
