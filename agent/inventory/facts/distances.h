// The distance between each GPU and each NIC of the node, from their places in sysfs. Needs no
// driver library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace railgauge::agent {

// The place of a PCI device in the tree of bridges.
struct PciPlace {
  std::string host_bridge{};             // "pci0000:15"; "": not known
  std::vector<std::string> bridges{};    // from the root port down to the device's own, by address
  std::uint32_t numa_node_plus_one = 0;  // 0: unknown
};

// Reads the place from the device's folder below `sysfs` (/sys on a node), a link into the tree of
// bridges; the NUMA node stays unknown. Without the link the host bridge is "".
PciPlace place_of(const std::string& sysfs, const std::string& pci_address);

// Returns a word of kPciDistances. kUnknownDistance: a host bridge is not known, or a NUMA node is
// not known on a machine with more than one. Pure.
std::string distance_between(const PciPlace& a, const PciPlace& b, std::size_t numa_nodes);

}  // namespace railgauge::agent
