#include "agent/inventory/facts/distances.h"

#include <algorithm>
#include <filesystem>

#include "agent/inventory/facts/files.h"
#include "kernels/core/pci_distance.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;

// "pci0000:15", which is the host bridge; a folder "pci" is not.
bool is_host_bridge(const std::string& name) {
  return name.starts_with("pci") && name.find(':') != std::string::npos;
}

}  // namespace

PciPlace place_of(const std::string& sysfs, const std::string& pci_address) {
  PciPlace place;
  if (pci_address.empty()) return place;
  const fs::path link = fs::path(sysfs) / "bus/pci/devices" / pci_address;
  std::error_code error;
  const fs::path folder = fs::canonical(link, error);
  if (error) return place;
  for (const fs::path& part : folder.parent_path()) {
    const std::string name = part.string();
    if (is_host_bridge(name)) {
      // A host bridge below another one (a virtual root of its own) begins a new tree.
      place.host_bridge = name;
      place.bridges.clear();
    } else if (!place.host_bridge.empty() && is_pci_address(name)) {
      place.bridges.push_back(name);
    }
  }
  return place;
}

std::string distance_between(const PciPlace& a, const PciPlace& b, std::size_t numa_nodes) {
  if (a.host_bridge.empty() || b.host_bridge.empty()) return std::string(kUnknownDistance);
  if (a.host_bridge != b.host_bridge) {
    if (numa_nodes <= 1) return "NODE";
    if (a.numa_node_plus_one == 0 || b.numa_node_plus_one == 0)
      return std::string(kUnknownDistance);
    return a.numa_node_plus_one == b.numa_node_plus_one ? "NODE" : "SYS";
  }
  const auto apart = std::ranges::mismatch(a.bridges, b.bridges);
  if (apart.in1 == a.bridges.begin()) return "PHB";  // nothing in common below the host bridge
  // Below a switch's upstream port each device has one downstream port of its own.
  const auto below = std::max(a.bridges.end() - apart.in1, b.bridges.end() - apart.in2);
  return below <= 1 ? "PIX" : "PXB";
}

}  // namespace railgauge::agent
