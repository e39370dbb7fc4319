// Where GPUs, NICs and processors sit to each other.
#include <fmt/ranges.h>

#include "agent/inventory/facts/topology.h"
#include "agent/preflight/rules/cpu_list.h"
#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"
#include "kernels/core/pci_distance.h"

namespace railgauge::agent {
namespace {

constexpr const char* kDistanceId = "gpu_nic_distance";
constexpr const char* kPlacementSource = "/sys/bus/pci/devices";

// Where a GPU has two paths to its memory: the one that a dma-buf takes.
std::string mapping_of(const Inventory& node, const GpuNicPair& pair) {
  const MappingChoice choice = dmabuf_mapping(node, pair);
  return fmt::format("; a dma-buf takes mapping {}: {}", mapping_words(choice.mapping),
                     choice.reason);
}

CheckResult judge_distance(const CheckInput& input, const GpuNicPair& pair) {
  if (pair.distance == kUnknownDistance)
    return unknown(pair.subject(), "where GPU and NIC hang on PCIe is not known", kPlacementSource);
  if (is_grace(input.node))
    return (pair.shares_a_bridge() ? passed : waived)(
        pair.subject(),
        fmt::format("{}{}{}", pair.distance,
                    pair.shares_a_bridge()
                        ? ""
                        : ": this GPU is on its CPU's port, not on a PCIe switch, by design",
                    mapping_of(input.node, pair)),
        kPlacementSource, {});
  if (pair.shares_a_bridge()) return passed(pair.subject(), pair.distance, kPlacementSource);
  if (input.node.is_virtual_machine.is(true))
    return unknown(pair.subject(),
                   fmt::format("{} in this virtual machine, which says nothing of the host's PCIe",
                               pair.distance),
                   kPlacementSource,
                   {"# on the host: lspci -t, for the physical functions behind the two; how fast "
                    "the pair is only a measurement shows here"});
  if (pair.distance == "PHB")
    return warned(pair.subject(),
                  "PHB: through the root complex of one socket; works, slower than by a switch",
                  kPlacementSource,
                  {"# pair the GPU with a NIC of its own PCIe switch, if there is one"});
  const bool is_required = input.required.contains(kDistanceId);
  return (is_required ? failed : warned)(
      pair.subject(),
      fmt::format("{}: the nearest NIC is across {}; works, slower", pair.distance,
                  pair.distance == "SYS" ? "the sockets' link" : "host bridges"),
      kPlacementSource,
      {"# move the NIC to a slot of the GPU's switch or socket, or measure this node in "
       "host memory: memory=host"});
}

CheckResult judge_device(const Inventory& node, const std::string& subject,
                         const PciDevice& device) {
  if (node.numa.size() <= 1)
    return passed(subject, "the machine has one NUMA node", "/sys/devices/system/node");
  if (!device.numa_node.is_known()) return not_known(subject, "its NUMA node", device.numa_node);
  if (device.numa_node.value < 0)
    return warned(
        subject, "the firmware does not report its NUMA node", device.numa_node,
        node.is_virtual_machine.is(true)
            ? std::vector<std::string>{"# on the host: give the guest NUMA nodes and the "
                                       "device the one that it is on (pxb-pcie)"}
            : std::vector<std::string>{
                  "# update the BIOS; it must name the node in its SRAT, or set NPS1 (AMD)"});
  const Fact<std::string>& allowed = node.limits.cgroup_cpus;
  if (!allowed.is_known() && !allowed.is_absent())
    return not_known(subject, "which processors the agent may use", allowed);
  if (!device.local_cpus.is_known())
    return not_known(subject, "which processors are near it", device.local_cpus);
  const std::string& local = device.local_cpus.value;
  if (allowed.is_known() && !allowed.value.empty() && !local.empty() &&
      !lists_meet(allowed.value, local))
    return failed(
        subject,
        fmt::format("its processors are {}, the agent may use {} alone", local, allowed.value),
        allowed, {"systemctl set-property railgauge-agent.service AllowedCPUs="});
  return passed(subject, fmt::format("NUMA node {}", device.numa_node.value), device.numa_node);
}

}  // namespace

CheckResults judge_gpu_nic_distance(const CheckInput& input) {
  if (auto none = no_pairs(input.node)) return std::move(*none);
  CheckResults results;
  for (const PairsOfGpu& one : nearest_by_gpu(input.node)) {
    if (one.data_direct != nullptr) {
      results.push_back(passed(
          one.pairs.front().gpu->name,
          fmt::format("{} to the DMA function {} (Data Direct), by which a NIC of another "
                      "root port reaches it{}",
                      pci_distance(input.node, one.gpu_device->address, one.data_direct->address),
                      one.data_direct->address, mapping_of(input.node, one.pairs.front())),
          kPlacementSource));
      continue;
    }
    for (const GpuNicPair& pair : one.pairs)
      results.push_back(is_unified(*pair.gpu)
                            ? waived(pair.subject(),
                                     "this GPU shares the host's memory, which any NIC reaches",
                                     kPlacementSource)
                            : judge_distance(input, pair));
  }
  return results;
}

CheckResults judge_numa_locality(const CheckInput& input) {
  const Inventory& node = input.node;
  CheckResults results;
  if (node.numa_balancing.is(true))
    results.push_back(warned("", "Linux moves pages between NUMA nodes by itself while we measure",
                             node.numa_balancing,
                             {"sysctl -w kernel.numa_balancing=0",
                              "echo kernel.numa_balancing=0 > /etc/sysctl.d/90-railgauge.conf"}));
  for (const auto& [subject, device, gpu] : linked_devices(node))
    results.push_back(judge_device(node, subject, *device));
  return results.empty() ? waived("there is neither a GPU nor an RDMA NIC on PCIe") : results;
}

}  // namespace railgauge::agent
