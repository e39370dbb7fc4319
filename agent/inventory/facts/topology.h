// Distances between GPUs and NICs of a node, computed from the inventory. Pure. The words are those
// of nvidia-smi: PIX, PXB, PHB, NODE, SYS, and NV# for # NVLinks between two GPUs.
#pragma once

#include <string>
#include <vector>

#include "agent/inventory/facts/distances.h"
#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

PciPlace place_of(const PciDevice& device);

// Returns the distance between two functions, by address; kUnknownDistance if one is not in the
// tree.
std::string pci_distance(const Inventory& inventory, const std::string& a, const std::string& b);

// Returns "NV18" if NVLinks join the two GPUs, directly or through switches, else pci_distance().
std::string gpu_distance(const Inventory& inventory, const GpuFacts& a, const GpuFacts& b);

// Returns the RDMA devices at the GPU's smallest distance, by name; devices at an unknown distance
// only without others. Software devices are left out.
std::vector<std::string> nearest_nics(const Inventory& inventory, const GpuFacts& gpu);

// Returns the bridges between two functions below their last common bridge: the ports whose ACS
// bits decide whether traffic is routed directly. Empty if the host bridges differ (all traffic
// then passes the host) or are not known.
std::vector<std::string> path_bridges(const PciDevice& a, const PciDevice& b);

// Returns the nearest Data Direct function on a PCIe switch with `gpu`, or nullptr. Its NIC is
// named only in its vital product data, which root alone may read.
const PciDevice* data_direct_function(const Inventory& inventory, const PciDevice& gpu);

// Returns the bridges of all paths between each GPU and its nearest NICs, sorted. For a Data Direct
// function, also the bridges between the function and the GPU, and the root port above both.
std::vector<std::string> gpu_nic_bridges(const Inventory& inventory);

}  // namespace railgauge::agent
