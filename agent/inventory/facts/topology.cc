#include "agent/inventory/facts/topology.h"

#include <algorithm>
#include <set>

#include "kernels/core/pci_distance.h"

namespace railgauge::agent {
namespace {

// Active links of `gpu` that end at `peer`, or at something that is no GPU: a switch.
struct Links {
  std::size_t to_peer = 0;
  std::size_t to_switches = 0;
};

Links links_of(const Inventory& inventory, const GpuFacts& gpu, const GpuFacts& peer) {
  Links links;
  const std::vector<bool>& active = gpu.nvml.nvlink_active.value;
  const std::vector<std::string>& remotes = gpu.nvml.nvlink_remotes.value;
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (!active[i]) continue;
    const std::string remote = i < remotes.size() ? remotes[i] : "";
    if (remote == peer.pci_address)
      ++links.to_peer;
    else if (std::ranges::find(inventory.gpus, remote, &GpuFacts::pci_address) ==
             inventory.gpus.end())
      ++links.to_switches;
  }
  return links;
}

}  // namespace

PciPlace place_of(const PciDevice& device) {
  const int numa = device.numa_node.is_known() ? device.numa_node.value : -1;
  return {.host_bridge = device.host_bridge,
          .bridges = device.bridges,
          .numa_node_plus_one = numa < 0 ? 0 : static_cast<std::uint32_t>(numa) + 1};
}

std::string pci_distance(const Inventory& inventory, const std::string& a, const std::string& b) {
  const PciDevice* first = inventory.pci_device(a);
  const PciDevice* second = inventory.pci_device(b);
  if (first == nullptr || second == nullptr) return std::string(kUnknownDistance);
  return distance_between(place_of(*first), place_of(*second),
                          std::max<std::size_t>(inventory.numa.size(), 1));
}

std::string gpu_distance(const Inventory& inventory, const GpuFacts& a, const GpuFacts& b) {
  const Links there = links_of(inventory, a, b);
  const Links back = links_of(inventory, b, a);
  // Direct ones are seen from both ends; through switches the narrower end counts.
  const std::size_t links =
      std::min(there.to_peer, back.to_peer) + std::min(there.to_switches, back.to_switches);
  if (links > 0) return "NV" + std::to_string(links);
  return pci_distance(inventory, a.pci_address, b.pci_address);
}

std::vector<std::string> nearest_nics(const Inventory& inventory, const GpuFacts& gpu) {
  std::vector<std::string> nearest;
  std::size_t least = kPciDistances.size() + 1;
  for (const RdmaDevice& nic : inventory.rdma) {
    if (nic.pci_address.empty()) continue;
    const std::size_t rank =
        pci_distance_rank(pci_distance(inventory, gpu.pci_address, nic.pci_address));
    if (rank < least) nearest.clear();
    if (rank <= least) nearest.push_back(nic.name);
    least = std::min(least, rank);
  }
  std::ranges::sort(nearest);
  return nearest;
}

std::vector<std::string> path_bridges(const PciDevice& a, const PciDevice& b) {
  if (a.host_bridge.empty() || a.host_bridge != b.host_bridge) return {};
  const auto apart = std::ranges::mismatch(a.bridges, b.bridges);
  std::vector<std::string> bridges(apart.in1, a.bridges.end());
  bridges.insert(bridges.end(), apart.in2, b.bridges.end());
  return bridges;
}

const PciDevice* data_direct_function(const Inventory& inventory, const PciDevice& gpu) {
  const PciDevice* nearest = nullptr;
  std::size_t least = pci_distance_rank("PHB");
  for (const auto& [address, device] : inventory.pci) {
    if (!device.is_data_direct()) continue;
    const std::size_t rank =
        pci_distance_rank(pci_distance(inventory, gpu.address, device.address));
    if (rank < least) nearest = &device;
    least = std::min(least, rank);
  }
  return nearest;
}

std::vector<std::string> gpu_nic_bridges(const Inventory& inventory) {
  std::set<std::string> bridges;
  for (const GpuFacts& gpu : inventory.gpus) {
    const PciDevice* from = inventory.pci_device(gpu.pci_address);
    if (from == nullptr) continue;
    if (const PciDevice* dma = data_direct_function(inventory, *from); dma != nullptr) {
      const std::vector<std::string> path = path_bridges(*from, *dma);
      bridges.insert(path.begin(), path.end());
      bridges.insert(from->bridges.front());
    }
    const std::vector<std::string> names = nearest_nics(inventory, gpu);
    for (const RdmaDevice& nic : inventory.rdma) {
      const PciDevice* to = inventory.pci_device(nic.pci_address);
      if (to == nullptr || !std::ranges::binary_search(names, nic.name)) continue;
      const std::vector<std::string> path = path_bridges(*from, *to);
      bridges.insert(path.begin(), path.end());
    }
  }
  return {bridges.begin(), bridges.end()};
}

}  // namespace railgauge::agent
