// An inventory as lines for a person: the output of `railgauge-agent --inventory`, without a
// controller.
#pragma once

#include <string>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

// "version gpu_driver = 580.65.06", "setting ...", "fact ...", then NVML's facts of each GPU, then
// the time of each source and the silent ones. Pure.
std::string print_inventory(const Inventory& inventory, const std::string& railgauge_version);

}  // namespace railgauge::agent
