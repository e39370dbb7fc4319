// The parts of a node that an upgrade changes, and the facts that merely describe it. Pure, over
// the inventory; ordered; the same node read twice gives the same words.
#pragma once

#include <map>
#include <string>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

using Words = std::map<std::string, std::string>;

// A part that the node does not have is left out; one that could not be read is kUnknownPart. A
// value common to all devices appears once, without them; where they differ, each value has the PCI
// addresses with it: "24.1: 0000:17:00.0; 24.2: 0000:18:00.0".
struct Stack {
  Words versions{};
  Words settings{};
};
Stack stack_of(const Inventory& inventory, const std::string& railgauge_version);

// Facts by which nodes are compared: hardware, links, limits. Nothing that changes by itself while
// the node runs (clocks, temperatures, counters, an idle GPU's link).
Words described_facts(const Inventory& inventory);

}  // namespace railgauge::agent
