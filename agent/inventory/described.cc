// Facts that describe a node, as words, which `nodes diff` compares with another node's.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/inventory/facts/grouped.h"
#include "agent/inventory/facts/topology.h"
#include "agent/inventory/sources/sources.h"
#include "agent/inventory/stack.h"
#include "kernels/core/stack_hash.h"

namespace railgauge::agent {
namespace {

constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;

template <class T>
void put_number(Words& words, const std::string& name, const Fact<T>& fact) {
  put(words, name, fact.as([](const T& value) { return fmt::format("{}", value); }));
}

void put_flag(Words& words, const std::string& name, const Fact<bool>& fact) {
  put(words, name, fact.as([](bool value) { return std::string(value ? "on" : "off"); }));
}

std::string limit_text(std::uint64_t bytes) {
  return bytes == kUnlimited ? "unlimited" : std::to_string(bytes);
}

// Returns "32 GT/s x16" from speed and width.
Fact<std::string> link_text(const Fact<double>& speed, const Fact<std::uint32_t>& width) {
  if (!width.is_known()) return width.without_value<std::string>();
  if (!speed.is_known()) return speed.without_value<std::string>();
  return Fact<std::string>::known(fmt::format("{:g} GT/s x{}", speed.value, width.value),
                                  width.source);
}

void describe_machine(const Inventory& inventory, Words& words) {
  put(words, "cpu", inventory.cpu.model);
  put_number(words, "cpu_processors", inventory.cpu.processors);
  put_number(words, "cpu_sockets", inventory.cpu.sockets);
  put(words, "cpu_microcode", inventory.cpu.microcode);
  put(words, "cpu_governor", inventory.cpu.governors.as([](const auto& counts) {
    std::vector<std::string> names;
    for (const auto& [name, count] : counts) names.push_back(name);
    return fmt::format("{}", fmt::join(names, " "));
  }));
  put(words, "cpu_idle_driver", inventory.cpu.idle_driver);
  for (const auto& [name, state] : inventory.cpu.idle_states.value)
    put(words, "cpu_idle." + name, state);
  put_flag(words, "cpu_smt", inventory.cpu.smt_active);
  // Firmware takes a few MiB more or less at each boot.
  put(words, "memory_gib", inventory.memory_bytes.as([](std::uint64_t bytes) {
    return fmt::format("{:.0f}", static_cast<double>(bytes) / kGibi);
  }));
  words["numa_nodes"] = std::to_string(inventory.numa.size());
  for (const auto& [name, fact] : inventory.dmi)
    if (name != "bios_version") put(words, name, fact);
  put_flag(words, "virtual_machine", inventory.is_virtual_machine);
  put(words, "iommu", inventory.iommus.as([](const std::vector<std::string>& names) {
    return names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, " "));
  }));
  put_flag(words, "numa_balancing", inventory.numa_balancing);
  put(words, "transparent_huge_pages", inventory.transparent_huge_pages);
  put(words, "rdma_netns_mode", inventory.rdma_netns_mode);
  put(words, "memlock_bytes", inventory.limits.memlock_soft_bytes.as(limit_text));
  put(words, "distribution", inventory.distribution);
  put(words, "distribution_version", inventory.distribution_version);
}

void describe_software(const Inventory& inventory, Words& words) {
  for (const auto& [name, service] : inventory.services) {
    put(words, "service." + name, service.enablement);
    if (!service.enablement.is_absent()) put_flag(words, "service_active." + name, service.active);
  }
  for (const auto& [name, module] : inventory.modules)
    if (module.is_loaded)
      words["loaded." + name] = module.version.is_known() ? module.version.value : "yes";
  if (inventory.packages.is_known())
    for (const auto& [name, version] : inventory.packages.value) words["package." + name] = version;
}

void describe_gpus(const Inventory& inventory, Words& words) {
  words["gpus"] = std::to_string(inventory.gpus.size());
  for (const GpuFacts& gpu : inventory.gpus) {
    const std::string prefix = gpu.name + ".";
    put(words, prefix + "model", gpu.model);
    words[prefix + "state"] = gpu.state;
    words[prefix + "pci"] = gpu.pci_address;
    if (const PciDevice* device = inventory.pci_device(gpu.pci_address)) {
      // An idle GPU trains its link down, so the highest speed is reported, with the present width.
      put(words, prefix + "pcie", link_text(device->max_link_gigatransfers, device->link_width));
      put_number(words, prefix + "numa", device->numa_node);
    }
    put_flag(words, prefix + "ecc", gpu.nvml.ecc_enabled);
    put_flag(words, prefix + "mig", gpu.nvml.mig_mode);
    put_flag(words, prefix + "persistence", gpu.nvml.persistence_mode);
    put(words, prefix + "nvlinks_active",
        gpu.nvml.nvlink_active.as([](const std::vector<bool>& links) {
          return fmt::format("{} of {}", std::count(links.begin(), links.end(), true),
                             links.size());
        }));
    words[prefix + "nearest_nics"] =
        fmt::format("{}", fmt::join(nearest_nics(inventory, gpu), " "));
  }
}

void describe_nics(const Inventory& inventory, Words& words) {
  for (const RdmaDevice& nic : inventory.rdma) {
    if (const PciDevice* device = inventory.pci_device(nic.pci_address)) {
      put(words, nic.name + ".pcie", link_text(device->link_gigatransfers, device->link_width));
      put_number(words, nic.name + ".numa", device->numa_node);
      words[nic.name + ".pci"] = nic.pci_address;
    }
    put(words, nic.name + ".model", nic.model);
    put(words, nic.name + ".psid", nic.board_id);
    for (const RdmaPort& port : nic.ports) {
      const std::string prefix = fmt::format("{}:{}.", nic.name, port.port);
      put(words, prefix + "state", port.state);
      put(words, prefix + "link_layer", port.link_layer);
      put_number(words, prefix + "rate_bits_per_second", port.rate_bits_per_second);
      words[prefix + "gids"] = std::to_string(port.gids.size());
    }
  }
}

// Returns the distances to all others, "gpu1=NV18 mlx5_0=PIX".
std::string distances_text(const Inventory& inventory, const std::string& name,
                           const std::string& address, const GpuFacts* gpu) {
  std::vector<std::string> parts;
  for (const GpuFacts& other : inventory.gpus)
    if (other.name != name)
      parts.push_back(fmt::format("{}={}", other.name,
                                  gpu != nullptr
                                      ? gpu_distance(inventory, *gpu, other)
                                      : pci_distance(inventory, address, other.pci_address)));
  for (const RdmaDevice& other : inventory.rdma)
    if (other.name != name && !other.pci_address.empty())
      parts.push_back(
          fmt::format("{}={}", other.name, pci_distance(inventory, address, other.pci_address)));
  return fmt::format("{}", fmt::join(parts, " "));
}

void describe_topology(const Inventory& inventory, Words& words) {
  const auto add = [&](const std::string& name, const std::string& address, const GpuFacts* gpu) {
    const PciDevice* device = inventory.pci_device(address);
    if (device == nullptr) return;
    put(words, name + ".cpus", device->local_cpus);
    words[name + ".distances"] = distances_text(inventory, name, address, gpu);
  };
  for (const GpuFacts& gpu : inventory.gpus) add(gpu.name, gpu.pci_address, &gpu);
  for (const RdmaDevice& nic : inventory.rdma) add(nic.name, nic.pci_address, nullptr);
}

}  // namespace

Words described_facts(const Inventory& inventory) {
  Words words;
  describe_machine(inventory, words);
  describe_software(inventory, words);
  describe_gpus(inventory, words);
  describe_nics(inventory, words);
  describe_topology(inventory, words);
  return words;
}

}  // namespace railgauge::agent
