#include "agent/inventory/contract.h"

#include <algorithm>

#include "agent/inventory/facts/topology.h"
#include "agent/inventory/stack.h"

namespace railgauge::agent {
namespace {

// Returns the value, or "unknown" for a fact that was not read.
std::string word_of(const Fact<std::string>& fact) {
  return fact.state == FactState::kUnknown ? "unknown" : fact.value;
}

// Where there is one node only, a device without a node from its firmware is on that one.
std::uint32_t numa_plus_one(const Inventory& inventory, const std::string& address) {
  const PciDevice* device = inventory.pci_device(address);
  if (device == nullptr) return 0;
  const std::uint32_t told = place_of(*device).numa_node_plus_one;
  if (told != 0 || inventory.numa.size() != 1) return told;
  return inventory.numa.front().number + 1;
}

std::string first_netdev(const RdmaDevice& device, const RdmaPort& port) {
  for (const GidEntry& gid : port.gids)
    if (gid.index == 0 && !gid.netdev.empty()) return gid.netdev;
  return device.netdevs.size() == 1 ? device.netdevs.front() : "";
}

void add_nic(const Inventory& inventory, const RdmaDevice& device, const RdmaPort& port,
             api::Hello& hello) {
  api::Nic& nic = *hello.add_nics();
  nic.set_device(device.name);
  nic.set_port(port.port);
  nic.set_pci_address(device.pci_address);
  nic.set_netdev(first_netdev(device, port));
  nic.set_state(word_of(port.state));
  nic.set_link_layer(port.link_layer.value);
  nic.set_guid(device.node_guid.value);
  nic.set_rate_bits_per_second(port.rate_bits_per_second.value);
  nic.set_firmware(device.firmware.value);
  nic.set_numa_node_plus_one(numa_plus_one(inventory, device.pci_address));
  nic.set_driver(device.driver);
}

void add_gpu(const Inventory& inventory, const GpuFacts& facts, api::Hello& hello) {
  api::Gpu& gpu = *hello.add_gpus();
  gpu.set_name(facts.name);
  gpu.set_pci_address(facts.pci_address);
  gpu.set_uuid(facts.uuid.value);
  gpu.set_model(facts.model.value);
  gpu.set_state(facts.state);
  gpu.set_vbios(facts.vbios.value);
  gpu.set_numa_node_plus_one(numa_plus_one(inventory, facts.pci_address));
  if (const PciDevice* device = inventory.pci_device(facts.pci_address))
    gpu.set_driver(device->driver.value);
  for (const RdmaDevice& nic : inventory.rdma)
    if (!nic.pci_address.empty())
      (*gpu.mutable_distances())[nic.name] =
          pci_distance(inventory, facts.pci_address, nic.pci_address);
}

// Whether a list was not read completely, so that a missing entry may still exist.
bool has_open_lists(const Inventory& inventory) {
  return inventory.pci_told.is_open() || inventory.rdma_told.is_open() ||
         std::ranges::any_of(inventory.modules, [](const auto& module) {
           return module.second.is_loaded && module.second.parameters_told.is_open();
         });
}

}  // namespace

void fill_hello(const Inventory& inventory, api::Hello& hello) {
  hello.clear_nics();
  for (const RdmaDevice& device : inventory.rdma)
    for (const RdmaPort& port : device.ports)
      if (static_cast<std::size_t>(hello.nics_size()) < kMaxNicPorts)
        add_nic(inventory, device, port, hello);
  hello.clear_gpus();
  for (const GpuFacts& gpu : inventory.gpus) add_gpu(inventory, gpu, hello);
  const Stack stack = stack_of(inventory, hello.version());
  const Words facts = described_facts(inventory);
  hello.clear_facts();
  hello.mutable_facts()->insert(facts.begin(), facts.end());
  hello.clear_stack_versions();
  hello.mutable_stack_versions()->insert(stack.versions.begin(), stack.versions.end());
  hello.clear_stack_settings();
  hello.mutable_stack_settings()->insert(stack.settings.begin(), stack.settings.end());
  hello.set_stack_incomplete(!inventory.late_sources.empty() || has_open_lists(inventory));
}

bool keep_nvml(const Inventory& before, Inventory& now) {
  bool has_all = true;
  for (GpuFacts& gpu : now.gpus) {
    const auto same = std::ranges::find_if(before.gpus, [&](const GpuFacts& old) {
      return old.pci_address == gpu.pci_address && old.uuid.value == gpu.uuid.value;
    });
    if (same != before.gpus.end())
      gpu.nvml = same->nvml;
    else
      has_all = false;
  }
  now.nvml_reason = before.nvml_reason;
  return has_all;
}

}  // namespace railgauge::agent
