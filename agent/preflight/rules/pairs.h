// The NIC of each GPU, and the PCIe bridges between them. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/inventory/facts/inventory.h"
#include "agent/preflight/rules/check.h"

namespace railgauge::agent {

struct GpuNicPair {
  const GpuFacts* gpu = nullptr;
  const RdmaDevice* nic = nullptr;
  const PciDevice* gpu_device = nullptr;
  const PciDevice* nic_device = nullptr;
  std::string distance{};  // a word of kPciDistances, or "unknown"
  [[nodiscard]] std::string subject() const { return gpu->name + "+" + nic->name; }
  // The ports that traffic between the two passes below the last bridge that they share, from each
  // side; empty where they share none or nothing is between.
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

// The pairs of a node, those of one GPU together.
struct PairsOfGpu {
  const PciDevice* gpu_device = nullptr;
  const PciDevice* data_direct = nullptr;  // nullptr: there is no such function beside it
  std::vector<GpuNicPair> pairs{};
};
std::vector<PairsOfGpu> nearest_by_gpu(const Inventory& node);

// Why there is no pair to judge, in words; "" when there is one.
std::string why_no_pairs(const Inventory& node);
// The same as what a check then says; nothing when there is one.
std::optional<CheckResults> no_pairs(const Inventory& node);
// The result of a check without a GPU: waived for that reason, or unknown where the list of devices
// was not read.
CheckResults no_gpu(const Inventory& node, std::string why = "there is no NVIDIA GPU");
// The result of a check without an RDMA NIC: waived for that reason, or unknown where the list was
// not read.
CheckResults no_rdma(const Inventory& node, std::string why = "no NIC here has RDMA");
// A device with unread ports; nothing when all were read.
std::optional<CheckResult> untold_ports(const RdmaDevice& device);
// A function that this machine keeps for virtual machines: vfio-pci, or a vendor's own of the kind
// (mlx5_vfio_pci, nvgrace_gpu_vfio_pci, nvidia-vgpu-vfio).
[[nodiscard]] inline bool is_given_away(const PciDevice& device) {
  return device.driver.value_or("").find("vfio") != std::string::npos;
}
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
