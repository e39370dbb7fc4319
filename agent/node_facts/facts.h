// What railgauge-node-facts tells: a fixed list of facts that an ordinary user may not read, each
// with the one capability that it needs. Only reads; takes no path, name or variable from its
// caller.
#pragma once

#include <string>

namespace railgauge::agent {

// A line for each fact: name, capability, files.
std::string privileged_facts_list();

// "pci_config ADDRESS HEX" for each bridge, display and network function, and each function of
// Mellanox, below `root` ("" on a machine; tests give a tree). At most 1024, 4096 bytes each.
std::string privileged_facts(const std::string& root);

}  // namespace railgauge::agent
