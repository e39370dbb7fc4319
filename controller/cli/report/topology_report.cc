#include "controller/cli/report/topology_report.h"

#include <algorithm>
#include <sstream>
#include <tuple>
#include <vector>

#include "controller/cli/render/compared_figures.h"
#include "kernels/core/pci_distance.h"

namespace railgauge::cli {
namespace {

using api::NodeInfo;

// "gpu1=NV18 mlx5_0=PIX".
void read_distances(const std::string& text, TopologyDevice& device) {
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (const std::size_t equals = word.find('='); equals != std::string::npos)
      (*device.mutable_distances())[word.substr(0, equals)] = word.substr(equals + 1);
}

// Fields that GPUs and NICs share. `numa_plus_one` 0 means that the node is unknown.
TopologyDevice device_of(const NodeInfo& node, const std::string& kind, const std::string& name,
                         const std::string& address, std::uint32_t numa_plus_one) {
  TopologyDevice device;
  device.set_node(node.name());
  device.set_kind(kind);
  device.set_name(name);
  device.set_pci_address(address);
  if (numa_plus_one > 0) device.set_numa_node(numa_plus_one - 1);
  device.set_cpus(value_of(node.facts(), name + ".cpus"));
  read_distances(value_of(node.facts(), name + ".distances"), device);
  return device;
}

// The nearest NICs are those at the smallest known distance.
void add_gpus(const NodeInfo& node, TopologyReport& report) {
  for (const auto& gpu : node.gpus()) {
    TopologyDevice device =
        device_of(node, "gpu", gpu.name(), gpu.pci_address(), gpu.numa_node_plus_one());
    device.mutable_distances()->insert(gpu.distances().begin(), gpu.distances().end());
    // Unknown distances have the largest rank, so they are never the nearest.
    std::size_t least = kPciDistances.size();
    for (const auto& [nic, distance] : gpu.distances())
      least = std::min(least, pci_distance_rank(distance));
    std::vector<std::string> nearest;
    for (const auto& [nic, distance] : gpu.distances())
      if (pci_distance_rank(distance) == least && least < kPciDistances.size())
        nearest.push_back(nic);
    std::ranges::sort(nearest);
    for (std::string& nic : nearest) device.add_nearest_nics(std::move(nic));
    *report.add_devices() = std::move(device);
  }
}

// Sorts ports by the length of the PCI address first, so that long domains come last.
void add_nics(const NodeInfo& node, TopologyReport& report) {
  std::vector<const api::Nic*> nics;
  for (const auto& nic : node.nics())
    if (!nic.pci_address().empty()) nics.push_back(&nic);
  // The list has ports; a device's rail is that of its first port.
  std::ranges::sort(nics, {}, [](const auto* nic) {
    return std::tuple(nic->pci_address().size(), nic->pci_address(), nic->port());
  });
  std::string last;
  for (std::size_t rail = 0; rail < nics.size(); ++rail) {
    if (nics[rail]->device() == last) continue;
    last = nics[rail]->device();
    TopologyDevice device =
        device_of(node, "nic", last, nics[rail]->pci_address(), nics[rail]->numa_node_plus_one());
    device.set_rail(static_cast<std::uint32_t>(rail));
    *report.add_devices() = std::move(device);
  }
}

}  // namespace

// Rails follow from the order of PCI addresses, because Linux numbers devices in the order in which
// drivers found them.
TopologyReport topology_of(const api::NodeList& nodes) {
  TopologyReport report;
  report.set_schema_version(1);
  for (const NodeInfo& node : nodes.nodes()) {
    add_gpus(node, report);
    add_nics(node, report);
  }
  return report;
}

}  // namespace railgauge::cli
