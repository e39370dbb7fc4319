// Pairs of GPUs and their NICs, with the PCIe bridges between them. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/inventory/facts/inventory.h"
#include "agent/preflight/rules/results.h"
#include "kernels/core/dmabuf_mapping.h"

namespace railgauge::agent {

struct GpuNicPair {
  const GpuFacts* gpu = nullptr;
  const RdmaDevice* nic = nullptr;
  const PciDevice* gpu_device = nullptr;
  const PciDevice* nic_device = nullptr;
  std::string distance{};  // a word of kPciDistances, or "unknown"
  [[nodiscard]] std::string subject() const { return gpu->name + "+" + nic->name; }
  // Returns the switch ports between the two below their last common bridge, the GPU's side first.
  // Empty if they share no bridge, or no port is between them.
  [[nodiscard]] std::vector<std::string> ports_between() const;
  [[nodiscard]] bool shares_a_bridge() const { return distance == "PIX" || distance == "PXB"; }
};

[[nodiscard]] inline bool is_software(const RdmaDevice& device) {
  return device.pci_address.empty();
}
// Returns RDMA devices on PCI; if any has an active port, only devices with one.
std::vector<const RdmaDevice*> fabric_nics(const Inventory& node);
// Returns each GPU with each of fabric_nics(), without GPUs and NICs whose PCI device is not known.
std::vector<GpuNicPair> all_pairs(const Inventory& node);
// Returns each GPU with the NICs at its smallest distance.
std::vector<GpuNicPair> nearest_pairs(const Inventory& node);

// Returns the GPUs on a PCIe switch with `nic`, "gpu0 gpu1", whatever the state of its ports; ""
// for none.
std::string gpus_beside(const Inventory& node, const RdmaDevice& nic);

// One GPU with its nearest pairs.
struct PairsOfGpu {
  const PciDevice* gpu_device = nullptr;
  const PciDevice* data_direct = nullptr;  // nullptr: no such function beside the GPU
  std::vector<GpuNicPair> pairs{};
};
std::vector<PairsOfGpu> nearest_by_gpu(const Inventory& node);

// Returns the mapping by which the GPU's memory is registered with the NIC as a dma-buf, as a
// runner chooses it. A NIC's Data Direct function counts for every NIC of its node.
MappingChoice dmabuf_mapping(const Inventory& node, const GpuNicPair& pair);

// Returns the reason why no pair can be judged, or "" when there is a pair.
std::string why_no_pairs(const Inventory& node);
// Returns that reason as the results of a check; absent when there is a pair.
std::optional<CheckResults> no_pairs(const Inventory& node);
// Returns the result of a check on a node without a GPU: waived for the reason `why`, or unknown if
// the PCI devices could not be read.
CheckResults no_gpu(const Inventory& node, std::string why = "there is no NVIDIA GPU");
// Returns the result of a check on a node without an RDMA NIC: waived for the reason `why`, or
// unknown if the RDMA devices could not be read.
CheckResults no_rdma(const Inventory& node, std::string why = "no NIC here has RDMA");
// Returns the result for a device whose ports could not be read; absent for other devices.
std::optional<CheckResult> untold_ports(const RdmaDevice& device);

// A GPU or a NIC of the fabric with its PCI function.
struct LinkedDevice {
  std::string subject;
  const PciDevice* device;
  const GpuFacts* gpu;  // nullptr: a NIC
};
// Returns GPUs and fabric NICs on PCIe, each device once.
std::vector<LinkedDevice> linked_devices(const Inventory& node);

// Collects judge(node, gpu) over the GPUs; no_gpu() without one.
template <class Judge>
CheckResults for_each_gpu(const Inventory& node, Judge judge) {
  CheckResults results;
  for (const GpuFacts& gpu : node.gpus) results.push_back(judge(node, gpu));
  return results.empty() ? no_gpu(node) : results;
}
// Collects judge(node, nic) over fabric_nics(); no_rdma() without one.
template <class Judge>
CheckResults for_each_nic(const Inventory& node, Judge judge) {
  CheckResults results;
  for (const RdmaDevice* nic : fabric_nics(node)) results.push_back(judge(node, *nic));
  return results.empty() ? no_rdma(node) : results;
}
// Collects judge(node, device) over linked_devices(); waived without one.
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
// Collects judge(node, device, port) over the wanted ports, and a result for each device with
// unread ports. Without any result, `why` waives the check, as in no_rdma().
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

// Whether the function is reserved for virtual machines: its driver is vfio-pci or a vendor's
// variant (mlx5_vfio_pci, nvgrace_gpu_vfio_pci, nvidia-vgpu-vfio).
[[nodiscard]] inline bool is_given_away(const PciDevice& device) {
  return device.driver.value_or("").find("vfio") != std::string::npos;
}
// Whether the device speaks RDMA over TCP, which has neither RoCE's GIDs nor its packets.
[[nodiscard]] inline bool is_iwarp(const RdmaDevice& device) { return device.node_type.is("rnic"); }
// Whether the GPU shares the host's memory (GB10, Orin, Thor, Xavier), so that it is no peer of a
// NIC by design.
[[nodiscard]] bool is_unified(const GpuFacts& gpu);
// Whether a GPU is a GH200, GB200 or GB300, connected by the CPU's NVLink and not by a PCIe switch.
[[nodiscard]] bool is_grace(const Inventory& node);

// Removes the machine's GPUs that the agent's container was not given: no process here may ask
// them, so every check of them would be unknown for ever.
void leave_out_hidden_gpus(Inventory& node);

}  // namespace railgauge::agent
