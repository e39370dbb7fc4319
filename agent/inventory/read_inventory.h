// Reads a node in two waves, each source of a wave on its own thread.
#pragma once

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

// Returns the time limit of a wave's sources after `spent_seconds`. Wave 0 reads the machine, wave
// 1 its devices. The first wave leaves a part of the time to the second, so that one hanging source
// does not cost all devices. Pure.
double wave_seconds(const InventoryOptions& options, int wave, double spent_seconds);

// Reads the node. Never fails: facts that could not be read have a reason. A sick device delays
// only its own facts.
Inventory read_inventory(const InventoryOptions& options);

}  // namespace railgauge::agent
