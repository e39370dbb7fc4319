// Reads a node: every source in its wave, each by a thread of its own.
#pragma once

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

// The time that the sources of a wave (0: of the machine, 1: of its devices) get, so long after the
// reading began. The first leaves the second a part of the whole, so that one place which hangs
// does not take all devices along. Pure.
double wave_seconds(const InventoryOptions& options, int wave, double spent_seconds);

// Each source is read by a thread of its own, so that a sick device holds up its own facts alone.
Inventory read_inventory(const InventoryOptions& options);

}  // namespace railgauge::agent
