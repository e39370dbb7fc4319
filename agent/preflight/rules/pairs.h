// The NIC of each GPU, and the PCIe bridges between them. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/inventory/facts/inventory.h"
#include "agent/preflight/rules/results.h"

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

[[nodiscard]] inline bool is_software(const RdmaDevice& device) {
  return device.pci_address.empty();
}
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

// A GPU or a NIC of the fabric with its PCI function.
struct LinkedDevice {
  std::string subject;
  const PciDevice* device;
  const GpuFacts* gpu;  // nullptr: a NIC
};
// GPUs and fabric NICs on PCIe; each device once.
std::vector<LinkedDevice> linked_devices(const Inventory& node);

// judge(node, gpu) of each GPU.
template <class Judge>
CheckResults for_each_gpu(const Inventory& node, Judge judge) {
  CheckResults results;
  for (const GpuFacts& gpu : node.gpus) results.push_back(judge(node, gpu));
  return results.empty() ? no_gpu(node) : results;
}
// judge(node, nic) of each NIC of the fabric.
template <class Judge>
CheckResults for_each_nic(const Inventory& node, Judge judge) {
  CheckResults results;
  for (const RdmaDevice* nic : fabric_nics(node)) results.push_back(judge(node, *nic));
  return results.empty() ? no_rdma(node) : results;
}
// judge(node, device) of each of linked_devices().
template <class Judge>
CheckResults for_each_linked(const Inventory& node, Judge judge) {
  CheckResults results;
  for (const LinkedDevice& linked : linked_devices(node)) results.push_back(judge(node, linked));
  return results.empty() ? waived("there is neither a GPU nor an RDMA NIC on PCIe") : results;
}

// "mlx5_0:1".
inline std::string name_of(const RdmaDevice& device, const RdmaPort& port) {
  return fmt::format("{}:{}", device.name, port.port);
}
struct WantedPorts {
  bool hardware_only = false;
  bool active_only = false;
};
// judge(node, device, port) of each wanted port, and a result for each device with unread ports.
// Without any `why` waives the check, as in no_rdma().
template <class Judge>
CheckResults for_each_port(const Inventory& node, WantedPorts wanted, std::string why,
                           Judge judge) {
  CheckResults results;
  for (const RdmaDevice& device : node.rdma) {
    if (wanted.hardware_only && is_software(device)) continue;
    if (auto untold = untold_ports(device)) results.push_back(std::move(*untold));
    for (const RdmaPort& port : device.ports)
      if (!wanted.active_only || port.state.is("active"))
        results.push_back(judge(node, device, port));
  }
  return results.empty() ? no_rdma(node, std::move(why)) : results;
}

// A function that this machine keeps for virtual machines: vfio-pci, or a vendor's own of the kind
// (mlx5_vfio_pci, nvgrace_gpu_vfio_pci, nvidia-vgpu-vfio).
[[nodiscard]] inline bool is_given_away(const PciDevice& device) {
  return device.driver.value_or("").find("vfio") != std::string::npos;
}
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
