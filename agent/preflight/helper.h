// What railgauge-node-facts, if it is installed, adds to an inventory that an ordinary user read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/inventory/inventory.h"

namespace railgauge::agent {

using ConfigSpaces = std::map<std::string, std::vector<std::uint8_t>>;  // by PCI address

// Its lines; what is none is left out. Pure.
ConfigSpaces parse_node_facts(const std::string& text);
// Replaces what was not known of the devices' configuration spaces; what was known stays. Pure.
void add_config_spaces(const ConfigSpaces& spaces, Inventory& node);

// Runs the helper beside this program where something is not known. Without it nothing changes.
void ask_node_facts(Inventory& node);

}  // namespace railgauge::agent
