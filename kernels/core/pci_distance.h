// The PCIe distance between a GPU and a NIC of one node, in the words of nvidia-smi topo.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace railgauge {

// Nearest first. PIX: one switch or one bridge. PXB: several bridges, no host bridge. PHB: one host
// bridge, different root ports. NODE: different host bridges of one NUMA node. SYS: different NUMA
// nodes.
inline constexpr std::array<std::string_view, 5> kPciDistances{"PIX", "PXB", "PHB", "NODE", "SYS"};
inline constexpr std::string_view kUnknownDistance = "unknown";

// Returns the index of `distance` in kPciDistances, nearest first; the list's size for any other
// word.
constexpr std::size_t pci_distance_rank(std::string_view distance) {
  return static_cast<std::size_t>(std::ranges::find(kPciDistances, distance) -
                                  kPciDistances.begin());
}

// Facts of a task that only its placement knows, not its runner: the distance, and "true" when both
// ranks use one port.
inline constexpr const char* kDistanceFact = "gpu_nic_distance";
inline constexpr const char* kLoopbackFact = "loopback";

}  // namespace railgauge
