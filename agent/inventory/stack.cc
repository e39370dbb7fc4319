#include "agent/inventory/stack.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/inventory/facts/grouped.h"
#include "agent/inventory/facts/topology.h"
#include "agent/inventory/sources/sources.h"
#include "kernels/core/stack_hash.h"

namespace railgauge::agent {
namespace {

// Returns the words of the command line, sorted, without words that name a disk or a kernel image.
std::string command_line(const std::string& text) {
  constexpr std::array<std::string_view, 8> kOfOneNode{
      "BOOT_IMAGE=", "root=", "initrd=",  "resume=",
      "BOOTIF=",     "ip=",   "rd.luks.", "cloud-config-url="};
  std::vector<std::string_view> words;
  for (const std::string_view word : fields_of(text, kMostNames))
    if (std::ranges::none_of(kOfOneNode,
                             [&](std::string_view own) { return word.starts_with(own); }))
      words.push_back(word);
  std::ranges::sort(words);
  return fmt::format("{}", fmt::join(words, " "));
}

Fact<std::string> module_version(const Inventory& inventory, const std::string& name) {
  const ModuleFacts* module = inventory.module(name);
  if (module == nullptr || !module->is_loaded) return Fact<std::string>::absent("/sys/module");
  return module->version;
}

// "MLNX_OFED_LINUX-24.04-0.6.6.0", or the inbox stack, which is as old as its kernel.
Fact<std::string> ofed_of(const Inventory& inventory) {
  const Fact<std::string> driver = module_version(inventory, "mlx5_core");
  if (inventory.ofed.is_absent() && inventory.rdma_core.is_absent() && !driver.is_known())
    return inventory.ofed;
  Fact<std::string> text = inventory.ofed;
  if (text.is_absent()) text = Fact<std::string>::known("inbox", text.source);
  if (text.is_known() && driver.is_known())
    text.value += fmt::format(" (mlx5_core {})", driver.value);
  return text;
}

Words versions_of(const Inventory& inventory, const std::string& railgauge_version) {
  Words words;
  words["railgauge"] = railgauge_version;
  put(words, "linux_kernel", inventory.kernel_release);
  put(words, "gpu_driver", inventory.gpu_driver);
  put(words, "gpu_driver_flavour", inventory.gpu_driver_flavour);
  put(words, "cuda", inventory.cuda);
  put(words, "fabric_manager", inventory.fabric_manager);
  put(words, "ofed", ofed_of(inventory));
  put(words, "rdma_core", inventory.rdma_core);
  put(words, "nccl", inventory.nccl);
  put(words, "ucx", inventory.ucx);
  put(words, "openmpi", inventory.openmpi);
  put(words, "mpich", inventory.mpich);
  for (const auto& [name, fact] : inventory.mpi_installations) put(words, "mpi." + name, fact);
  if (const auto bios = inventory.dmi.find("bios_version"); bios != inventory.dmi.end())
    put(words, "bios", bios->second);
  Grouped vbios;
  for (const GpuFacts& gpu : inventory.gpus) vbios.add(gpu.pci_address, gpu.vbios);
  vbios.put(words, "gpu_vbios");
  std::map<std::string, Grouped> firmware;  // by model: a machine may have several
  for (const RdmaDevice& nic : inventory.rdma)
    if (!nic.pci_address.empty()) firmware[nic.model.value].add(nic.pci_address, nic.firmware);
  for (const auto& [model, group] : firmware)
    group.put(words, model.empty() ? "nic_firmware" : "nic_firmware." + model);
  return words;
}

// Read and write paths of GPUDirect RDMA that the node offers at present.
std::string peer_memory_path(const Inventory& inventory) {
  std::vector<std::string> ways;
  for (const char* name : {"nvidia_peermem", "nv_peer_mem"})
    if (inventory.is_loaded(name)) ways.emplace_back(name);
  if (inventory.gpu_driver_flavour.is("open")) ways.emplace_back("dma-buf");
  return ways.empty() ? "none" : fmt::format("{}", fmt::join(ways, " "));
}

std::string acs_word(const PciAcs& acs) {
  constexpr std::array<std::string_view, 7> kBits{"SV", "TB", "RR", "CR", "UF", "EC", "DT"};
  std::vector<std::string_view> on;
  for (std::size_t i = 0; i < kBits.size(); ++i)
    if ((acs.control >> i & 1U) != 0) on.push_back(kBits.at(i));
  return on.empty() ? "off" : fmt::format("{}", fmt::join(on, "+"));
}

void put_pci_settings(const Inventory& inventory, Words& words) {
  Grouped acs;
  for (const std::string& address : gpu_nic_bridges(inventory)) {
    const Fact<PciAcs>& fact = inventory.pci_device(address)->config.acs;
    acs.add(address, fact.as(acs_word));
  }
  acs.put(words, "acs_on_gpu_nic_paths");
  Grouped read_request;
  Grouped relaxed;
  Grouped gpu_bars;
  const auto add_control = [&](const std::string& address) {
    const PciDevice* device = inventory.pci_device(address);
    if (device == nullptr) return;
    read_request.add(address, device->config.pcie.as([](const PcieControl& control) {
      return std::to_string(control.max_read_request_bytes);
    }));
    relaxed.add(address, device->config.pcie.as([](const PcieControl& control) {
      return std::string(control.relaxed_ordering ? "on" : "off");
    }));
  };
  for (const RdmaDevice& nic : inventory.rdma) add_control(nic.pci_address);
  read_request.put(words, "nic_max_read_request_bytes");
  relaxed.put(words, "nic_relaxed_ordering");
  for (const GpuFacts& gpu : inventory.gpus) {
    const PciDevice* device = inventory.pci_device(gpu.pci_address);
    if (device == nullptr) continue;
    gpu_bars.add(gpu.pci_address, device->bars.as([](const std::vector<PciBar>& bars) {
      return std::to_string(memory_window_bytes(bars));
    }));
  }
  gpu_bars.put(words, "gpu_bar1_bytes");
}

void put_nic_settings(const Inventory& inventory, Words& words) {
  // mlxconfig's settings are part of the stack with an unknown value: only the vendor's tools read
  // them, as root, from the device's registers.
  for (const RdmaDevice& nic : inventory.rdma)
    if (!nic.pci_address.empty()) words["nic_firmware_configuration"] = kUnknownPart;
  Grouped mtu;
  std::map<std::string, Grouped> qos;
  for (const RdmaDevice& nic : inventory.rdma)
    for (const std::string& name : nic.netdevs) {
      const NetDevice* net = inventory.net(name);
      if (net == nullptr) continue;
      const std::string subject = nic.pci_address.empty() ? name : nic.pci_address;
      mtu.add(subject,
              net->mtu_bytes.as([](std::uint32_t bytes) { return std::to_string(bytes); }));
      for (const auto& [key, value] : net->qos) qos[key].add(subject, value);
    }
  mtu.put(words, "nic_mtu_bytes");
  for (const auto& [key, group] : qos) group.put(words, "qos." + key);
  for (const auto& [key, value] : inventory.nic_settings) put(words, "nic." + key, value);
}

void put_module_settings(const Inventory& inventory, Words& words) {
  std::vector<std::string> autoload;
  for (const auto& [name, file] : inventory.autoload.value)
    if (std::ranges::binary_search(known_modules(), name))
      autoload.push_back(fmt::format("{} ({})", name, file));
  if (!autoload.empty()) words["autoload"] = fmt::format("{}", fmt::join(autoload, ", "));
  for (const auto& [name, options] : inventory.module_options.value)
    if (std::ranges::binary_search(known_modules(), name)) words["modprobe." + name] = options;
  for (const auto& [name, file] : inventory.blacklist.value)
    if (std::ranges::binary_search(known_modules(), name)) words["blacklist." + name] = file;
  for (const auto& [name, module] : inventory.modules)
    if (module.is_loaded)
      for (const auto& [parameter, value] : module.parameters)
        put(words, fmt::format("module.{}.{}", name, parameter), value);
}

}  // namespace

Stack stack_of(const Inventory& inventory, const std::string& railgauge_version) {
  Stack stack;
  stack.versions = versions_of(inventory, railgauge_version);
  Fact<std::string> line = inventory.kernel_command_line;
  line.value = command_line(line.value);
  put(stack.settings, "kernel_command_line", line);
  if (!inventory.gpus.empty()) stack.settings["peer_memory_path"] = peer_memory_path(inventory);
  put_pci_settings(inventory, stack.settings);
  put_nic_settings(inventory, stack.settings);
  put_module_settings(inventory, stack.settings);
  for (const auto& [key, value] : inventory.nccl_conf.value)
    stack.settings["nccl_conf." + key] = value;
  return stack;
}

}  // namespace railgauge::agent
