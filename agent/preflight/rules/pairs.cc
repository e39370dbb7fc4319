#include "agent/preflight/rules/pairs.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "agent/inventory/facts/topology.h"
#include "kernels/core/pci_distance.h"

namespace railgauge::agent {
namespace {

bool has_active_port(const RdmaDevice& device) {
  return std::ranges::any_of(device.ports,
                             [](const RdmaPort& port) { return port.state.is("active"); });
}

}  // namespace

bool is_unified(const GpuFacts& gpu) {
  constexpr std::array<std::string_view, 4> kUnified{"GB10", "Orin", "Thor", "Xavier"};
  const std::string model = gpu.model.value_or("");
  return std::ranges::any_of(
      kUnified, [&](std::string_view word) { return model.find(word) != std::string::npos; });
}

bool is_grace(const Inventory& node) {
  return std::ranges::any_of(node.gpus, [](const GpuFacts& gpu) {
    const std::string model = gpu.model.value_or("");
    return model.find("GH200") != std::string::npos || model.find("GB200") != std::string::npos ||
           model.find("GB300") != std::string::npos;
  });
}

std::vector<std::string> GpuNicPair::ports_between() const {
  return shares_a_bridge() ? path_bridges(*gpu_device, *nic_device) : std::vector<std::string>{};
}

std::vector<const RdmaDevice*> fabric_nics(const Inventory& node) {
  std::vector<const RdmaDevice*> nics;
  for (const RdmaDevice& device : node.rdma)
    if (!is_software(device)) nics.push_back(&device);
  if (std::ranges::any_of(nics, [](const RdmaDevice* nic) { return has_active_port(*nic); }))
    std::erase_if(nics, [](const RdmaDevice* nic) { return !has_active_port(*nic); });
  return nics;
}

std::vector<GpuNicPair> all_pairs(const Inventory& node) {
  std::vector<GpuNicPair> pairs;
  const std::vector<const RdmaDevice*> nics = fabric_nics(node);
  for (const GpuFacts& gpu : node.gpus) {
    const PciDevice* gpu_device = node.pci_device(gpu.pci_address);
    if (gpu_device == nullptr) continue;
    for (const RdmaDevice* nic : nics) {
      const PciDevice* nic_device = node.pci_device(nic->pci_address);
      if (nic_device == nullptr) continue;
      pairs.push_back({&gpu, nic, gpu_device, nic_device,
                       pci_distance(node, gpu.pci_address, nic->pci_address)});
    }
  }
  return pairs;
}

std::string gpus_beside(const Inventory& node, const RdmaDevice& nic) {
  std::string names;
  for (const GpuFacts& gpu : node.gpus) {
    const std::string distance = pci_distance(node, gpu.pci_address, nic.pci_address);
    if (distance == "PIX" || distance == "PXB") names += (names.empty() ? "" : " ") + gpu.name;
  }
  return names;
}

std::vector<GpuNicPair> nearest_pairs(const Inventory& node) {
  const std::vector<GpuNicPair> all = all_pairs(node);
  std::vector<GpuNicPair> nearest;
  for (const GpuNicPair& pair : all) {
    const bool is_nearest = std::ranges::none_of(all, [&](const GpuNicPair& other) {
      return other.gpu == pair.gpu &&
             pci_distance_rank(other.distance) < pci_distance_rank(pair.distance);
    });
    if (is_nearest) nearest.push_back(pair);
  }
  return nearest;
}

std::vector<PairsOfGpu> nearest_by_gpu(const Inventory& node) {
  std::vector<PairsOfGpu> gpus;
  for (const GpuNicPair& pair : nearest_pairs(node)) {
    if (gpus.empty() || gpus.back().gpu_device != pair.gpu_device)
      gpus.push_back({pair.gpu_device, data_direct_function(node, *pair.gpu_device), {}});
    gpus.back().pairs.push_back(pair);
  }
  return gpus;
}

MappingChoice dmabuf_mapping(const Inventory& node, const GpuNicPair& pair) {
  return choose_dmabuf_mapping(
      {.is_coherent = is_grace(node),
       .nic_shares_bridge = pair.shares_a_bridge(),
       .direct_shares_bridge = data_direct_function(node, *pair.gpu_device) != nullptr});
}

std::string why_no_pairs(const Inventory& node) {
  if (node.gpus.empty()) return "there is no NVIDIA GPU";
  const bool hardware =
      std::ranges::any_of(node.rdma, [](const RdmaDevice& each) { return !is_software(each); });
  if (!hardware)
    return "no NIC here has RDMA: GPUDirect RDMA cannot be, and TCP over these NICs is measured";
  return all_pairs(node).empty() ? "the PCI devices of GPUs or NICs are not known" : "";
}

std::optional<CheckResults> no_pairs(const Inventory& node) {
  std::string why = why_no_pairs(node);
  if (why.empty()) return std::nullopt;
  return node.gpus.empty() ? no_gpu(node, std::move(why)) : no_rdma(node, std::move(why));
}

CheckResults no_gpu(const Inventory& node, std::string why) {
  if (!node.pci_told.is_open()) return waived(std::move(why));
  return {not_known("", "which GPUs are here", node.pci_told)};
}

CheckResults no_rdma(const Inventory& node, std::string why) {
  if (!node.rdma_told.is_open()) return waived(std::move(why));
  return {not_known("", "which NICs have RDMA", node.rdma_told)};
}

std::vector<LinkedDevice> linked_devices(const Inventory& node) {
  std::vector<LinkedDevice> devices;
  for (const GpuFacts& gpu : node.gpus)
    if (const PciDevice* device = node.pci_device(gpu.pci_address); device != nullptr)
      devices.push_back({gpu.name, device, &gpu});
  for (const RdmaDevice* nic : fabric_nics(node))
    if (const PciDevice* device = node.pci_device(nic->pci_address); device != nullptr)
      devices.push_back({nic->name, device, nullptr});
  return devices;
}

std::optional<CheckResult> untold_ports(const RdmaDevice& device) {
  if (!device.ports.empty() || !device.ports_told.is_open()) return std::nullopt;
  return not_known(device.name, "which ports it has", device.ports_told);
}

void leave_out_hidden_gpus(Inventory& node) {
  std::erase_if(node.gpus, [](const GpuFacts& gpu) { return gpu.state == "hidden"; });
}

}  // namespace railgauge::agent
