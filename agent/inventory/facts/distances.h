// How far each GPU is from each NIC of the node, from where sysfs places them. Needs no driver's
// library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Where a PCI device sits.
struct PciPlace {
  std::string host_bridge{};             // "pci0000:15"; "": not known
  std::vector<std::string> bridges{};    // from the root port down to the device's own, by address
  std::uint32_t numa_node_plus_one = 0;  // 0: unknown
};

// From the device's folder below `sysfs`, /sys on a node: a link to the tree of bridges. Without
// one, without a host bridge.
PciPlace place_of(const std::string& sysfs, const std::string& pci_address);

// A word of kPciDistances, or kUnknownDistance where a host bridge is not known, or NUMA nodes are
// not and the machine has more than one. Pure.
std::string distance_between(const PciPlace& a, const PciPlace& b, std::size_t numa_nodes);

// NUMA nodes that are online; at least 1.
std::size_t count_numa_nodes(const std::string& sysfs);

// Fills in `distances` of each GPU, by NIC device. A software device has none.
void add_distances(const std::string& sysfs, const std::vector<api::Nic>& nics,
                   std::vector<api::Gpu>& gpus);

}  // namespace railgauge::agent
