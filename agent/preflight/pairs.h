// Which GPU works with which NIC, and what lies between them on PCIe. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/inventory/inventory.h"

namespace railgauge::agent {

struct GpuNicPair {
  const GpuFacts* gpu = nullptr;
  const RdmaDevice* nic = nullptr;
  const PciDevice* gpu_device = nullptr;
  const PciDevice* nic_device = nullptr;
  std::string distance{};  // a word of kPciDistances, or "unknown"
  [[nodiscard]] std::string subject() const { return gpu->name + "+" + nic->name; }
  // The ports that traffic between the two passes below the last bridge that they share, from each
  // side; empty where they share none or nothing lies between.
  [[nodiscard]] std::vector<std::string> ports_between() const;
  [[nodiscard]] bool shares_a_bridge() const { return distance == "PIX" || distance == "PXB"; }
};

// RDMA devices on PCI; those with an active port alone, where there is any.
std::vector<const RdmaDevice*> fabric_nics(const Inventory& node);
// Each GPU with each of those; without GPUs or NICs whose device is not known.
std::vector<GpuNicPair> all_pairs(const Inventory& node);
// Each GPU with the NICs of its smallest distance.
std::vector<GpuNicPair> nearest_pairs(const Inventory& node);

// GPUs on a PCIe switch with this NIC, whether its ports are up or not: "gpu0 gpu1"; "" where it
// has none.
std::string gpus_beside(const Inventory& node, const RdmaDevice& nic);

// ConnectX-8's DMA function beside the GPU of `pair` (Data Direct); nullptr: there is none.
const PciDevice* data_direct_function(const Inventory& node, const GpuNicPair& pair);

// Why there is no pair to judge, in words; "" when there is one.
std::string why_no_pairs(const Inventory& node);
[[nodiscard]] bool is_software(const RdmaDevice& device);
// RDMA over TCP: neither RoCE's GIDs nor its packets.
[[nodiscard]] inline bool is_iwarp(const RdmaDevice& device) { return device.node_type.is("rnic"); }
// A GPU whose memory is the host's too (GB10, Orin, Thor): no peer of a NIC by design.
[[nodiscard]] bool is_unified(const GpuFacts& gpu);
// GH200, GB200: the GPU hangs on the CPU's NVLink, not on a PCIe switch.
[[nodiscard]] bool is_grace(const Inventory& node);

// GPUs of the machine that the agent's container was not given are not this node's to judge:
// nothing here may ask them, so that every check of theirs would be unknown for ever.
void leave_out_hidden_gpus(Inventory& node);

}  // namespace railgauge::agent
