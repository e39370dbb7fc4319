// An inventory as lines for a person: what `railgauge-agent --inventory` prints, with no
// controller.
#pragma once

#include <string>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

// "version gpu_driver = 580.65.06", "setting ...", "fact ...", then what NVML told of each GPU,
// then how long each source took and which did not answer. Pure.
std::string print_inventory(const Inventory& inventory, const std::string& railgauge_version);

}  // namespace railgauge::agent
