// The parts of a node that an upgrade changes, and the facts that describe the node. Pure functions
// over the inventory. Results are ordered: two readings of an unchanged node are equal.
#pragma once

#include <map>
#include <string>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

using Words = std::map<std::string, std::string>;

// Versions and settings by name. A part that the node lacks is absent; an unread part is
// kUnknownPart. A value common to all devices appears once. If devices differ, each value lists its
// PCI addresses: "24.1: 0000:17:00.0; 24.2: 0000:18:00.0".
struct Stack {
  Words versions{};
  Words settings{};
};
Stack stack_of(const Inventory& inventory, const std::string& railgauge_version);

// Returns facts for comparing nodes: hardware, links, limits. Leaves out values that change while
// the node runs: clocks, temperatures, counters, the link speed of an idle GPU.
Words described_facts(const Inventory& inventory);

}  // namespace railgauge::agent
