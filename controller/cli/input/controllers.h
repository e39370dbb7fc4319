// The controllers of a site that the settings name, and which of them is active.
#pragma once

#include <string>
#include <vector>

#include "controller/api/standby.pb.h"
#include "controller/cli/input/settings.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli {

// A controller as it was asked for its role.
struct SeenController {
  std::string address{};
  api::ControllerRole role{};  // empty where it did not answer
  std::string fault{};         // why not; ""
};

// Asks each in turn, `seconds` at most.
std::vector<SeenController> see_controllers(const Settings& settings, double seconds);

// The settings with one controller: of several the active one with the highest generation.
// kUnavailable: none is active, with what each of them says.
Result<Settings> with_active_controller(Settings settings);

}  // namespace railgauge::cli
