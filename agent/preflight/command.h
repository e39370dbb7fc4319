// `railgauge-agent --preflight`: preflight of this node without a controller.
#pragma once

#include <string>
#include <vector>

#include "agent/preflight/preflight.h"

namespace railgauge::agent {

struct PreflightCommand {
  bool asked = false;
  std::string format = "table";  // or "json"
  std::string require{};         // ids, separated by commas
  bool strict = false;
  bool probe = false;
  std::string root{};  // a tree of files used in place of the machine
};

// Prints the report to stdout and returns DESIGN's exit code. An unknown check id is wrong use. If
// `state_folder` exists, answers of registrations are stored in it and earlier ones are reported.
int run_preflight_command(const PreflightCommand& command, const std::string& node_name,
                          const std::string& runner, const std::string& state_folder);

}  // namespace railgauge::agent
