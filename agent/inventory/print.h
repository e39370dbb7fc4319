// The output of `railgauge-agent --inventory`, which needs no controller.
#pragma once

#include <string>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

// Prints "version gpu_driver = 580.65.06", "setting ...", "fact ...", then NVML's facts of each
// GPU, the time of each source, and the late sources. Pure.
std::string print_inventory(const Inventory& inventory, const std::string& railgauge_version);

}  // namespace railgauge::agent
