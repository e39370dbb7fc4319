// Reads a node: every source of a wave on its own thread.
#pragma once

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

// The seconds that the sources of a wave get, after `spent_seconds`. Wave 0 reads the machine, wave
// 1 its devices. The first wave leaves a part of the time to the second, so that one hanging source
// does not cost all devices. Pure.
double wave_seconds(const InventoryOptions& options, int wave, double spent_seconds);

// Each source has its own thread, so that a sick device delays only its own facts.
Inventory read_inventory(const InventoryOptions& options);

}  // namespace railgauge::agent
