// How GPUs and NICs of a node lie to each other. Pure, over the inventory. The words are those that
// nvidia-smi made known: PIX, PXB, PHB, NODE, SYS, and NV# for # NVLinks between two GPUs.
#pragma once

#include <string>
#include <vector>

#include "agent/inventory/facts/distances.h"
#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

PciPlace place_of(const PciDevice& device);

// Between two functions of the PCI tree, by address; kUnknownDistance where one is not in it.
std::string pci_distance(const Inventory& inventory, const std::string& a, const std::string& b);

// "NV18" where NVLinks join the two, directly or through switches, else pci_distance().
std::string gpu_distance(const Inventory& inventory, const GpuFacts& a, const GpuFacts& b);

// RDMA devices at the GPU's least distance, by name; those of unknown distance only when there are
// no others. Software devices are none.
std::vector<std::string> nearest_nics(const Inventory& inventory, const GpuFacts& gpu);

// Bridges on the way between two functions of one host bridge, without what both have above them:
// the ports whose ACS bits decide whether traffic goes straight. Empty where the host bridges
// differ (everything goes through the host then) or are not known.
std::vector<std::string> path_bridges(const PciDevice& a, const PciDevice& b);

// The nearest Data Direct function on a PCIe switch with `gpu`; nullptr: there is none. Only its
// vital product data, readable by root, name its NIC.
const PciDevice* data_direct_function(const Inventory& inventory, const PciDevice& gpu);

// Bridges of all paths between each GPU and its nearest NICs, sorted; with a Data Direct function
// those between it and the GPU too, and the root port above the two.
std::vector<std::string> gpu_nic_bridges(const Inventory& inventory);

}  // namespace railgauge::agent
