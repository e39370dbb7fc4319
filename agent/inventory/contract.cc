#include "agent/inventory/contract.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/inventory/facts/topology.h"
#include "agent/inventory/stack.h"
#include "controller/api/hello_bounds.h"
#include "kernels/core/text/text.h"

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

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string fitting(std::string_view text) {
  std::string fits;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t control = api::control_length(text, at);
    fits += control > 0 ? '?' : text[at];
    at += std::max<std::size_t>(control, 1);
  }
  return std::string(beginning_of(fits, api::kMaxTextBytes));
}

// All texts of the message and of those inside it, entries of maps included.
void fit_texts(Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool is_text = field->type() == FieldDescriptor::TYPE_STRING;
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!field->is_repeated()) {
      if (is_text)
        reflection.SetString(&message, field, fitting(reflection.GetString(message, field)));
      if (is_message) fit_texts(*reflection.MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      if (is_text)
        reflection.SetRepeatedString(&message, field, i,
                                     fitting(reflection.GetRepeatedString(message, field, i)));
      if (is_message) fit_texts(*reflection.MutableRepeatedMessage(&message, field, i));
    }
  }
}

// Leaves out what is not wanted and what comes behind `most` entries. Returns its number.
template <class List, class IsWanted>
int keep(List& list, int most, const IsWanted& is_wanted) {
  const int before = list.size();
  list.erase(
      std::remove_if(list.begin(), list.end(), [&](const auto& one) { return !is_wanted(one); }),
      list.end());
  if (list.size() > most) list.DeleteSubrange(most, list.size() - most);
  return before - list.size();
}

// The entries that fit into `left` bytes, in the order of their names.
template <class Map>
std::size_t keep_fitting(Map& map, std::size_t& left) {
  std::vector<std::string> names;
  for (const auto& [name, value] : map) names.push_back(name);
  std::ranges::sort(names);
  const std::size_t before = map.size();
  for (const std::string& name : names) {
    const std::size_t bytes = name.size() + map.at(name).size();
    if (bytes > left)
      map.erase(name);
    else
      left -= bytes;
  }
  return before - map.size();
}

}  // namespace

std::string fit_hello(api::Hello& hello) {
  fit_texts(hello);
  std::vector<std::string> left_out;
  const auto note = [&](std::size_t count, std::string_view what) {
    if (count > 0) left_out.push_back(fmt::format("{} {}", count, what));
    return count > 0;
  };
  api::Devices devices;
  note(keep(*hello.mutable_nics(), api::kMaxNics,
            [&](const api::Nic& nic) {
              return api::is_device_name(nic.device()) && devices.add(nic);
            }),
       "NIC ports whose slot or name another has");
  note(keep(*hello.mutable_gpus(), api::kMaxGpus,
            [&](const api::Gpu& gpu) {
              return api::is_device_name(gpu.name()) && devices.add(gpu);
            }),
       "GPUs whose slot or name another has");
  std::size_t left = api::kMaxFactBytes;
  const bool lacks_parts = note(keep_fitting(*hello.mutable_stack_versions(), left) +
                                    keep_fitting(*hello.mutable_stack_settings(), left),
                                "parts of the stack");
  if (lacks_parts) hello.set_stack_incomplete(true);
  note(keep_fitting(*hello.mutable_facts(), left), "facts");
  return fmt::format("{}", fmt::join(left_out, ", "));
}

std::string declare_kernels(KernelList kernels, api::Hello& hello) {
  fit_texts(kernels);
  const int left_out =
      keep(*kernels.mutable_kernels(), api::kMaxKernels, [](const auto&) { return true; });
  hello.clear_kernels();
  for (const KernelInfo& kernel : kernels.kernels()) kernel.SerializeToString(hello.add_kernels());
  return left_out > 0 ? fmt::format("{} kernels", left_out) : "";
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
