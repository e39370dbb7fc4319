// The parts of a node that an upgrade changes, and the facts that describe it. Pure functions over
// the inventory. The result is ordered: the same node read twice gives the same words.
#pragma once

#include <map>
#include <string>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

using Words = std::map<std::string, std::string>;

// A part that the node does not have is absent; a part that could not be read is kUnknownPart. A
// value common to all devices appears once. If devices differ, each value has the PCI addresses
// with it: "24.1: 0000:17:00.0; 24.2: 0000:18:00.0".
struct Stack {
  Words versions{};
  Words settings{};
};
Stack stack_of(const Inventory& inventory, const std::string& railgauge_version);

// Facts for comparing nodes: hardware, links, limits. Without values that change while the node
// runs: clocks, temperatures, counters, the link speed of an idle GPU.
Words described_facts(const Inventory& inventory);

}  // namespace railgauge::agent
