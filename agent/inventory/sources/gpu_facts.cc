// GPUs without the driver's library: its folder in /proc and what the PCI tree shows.
#include <algorithm>
#include <tuple>

#include "agent/inventory/facts/files.h"
#include "agent/inventory/facts/gpus.h"
#include "agent/inventory/sources/sources.h"

namespace railgauge::agent {
namespace {

constexpr const char* kShown = "/proc/driver/nvidia/gpus";
constexpr const char* kDriver = "nvidia";
constexpr std::uint32_t kNvidiaVendor = 0x10de;

// "Model: \t NVIDIA H200" and so on, one a line.
Facts parse_pairs(const Fact<std::string>& text) {
  constexpr std::size_t kMostPairs = 256;
  Facts pairs;
  std::string_view rest = text.value;
  while (!rest.empty() && pairs.size() < kMostPairs) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    pairs[std::string(trimmed(line.substr(0, colon)))] =
        Fact<std::string>::known(std::string(trimmed(line.substr(colon + 1))), text.source);
  }
  return pairs;
}

// A line of the information; without it what became of the file.
Fact<std::string> pair_of(const Facts& pairs, const char* name, const Fact<std::string>& text) {
  if (const auto found = pairs.find(name); found != pairs.end() && !found->second.value.empty())
    return found->second;
  if (text.is_known()) return Fact<std::string>::absent(text.source);
  return text;
}

// The GPU with that PCI address; added if it is new.
GpuFacts& gpu_at(Inventory& inventory, const std::string& address) {
  const auto found = std::ranges::find(inventory.gpus, address, &GpuFacts::pci_address);
  if (found != inventory.gpus.end()) return *found;
  GpuFacts& gpu = inventory.gpus.emplace_back();
  gpu.pci_address = address;
  return gpu;
}

bool is_gpu(const PciDevice& device) {
  const std::uint32_t kind = device.class_code.value >> 8U;
  return device.vendor.is(kNvidiaVendor) && (kind == 0x0300 || kind == 0x0302);
}

// Why the driver does not show a GPU here; "active" when it does. A container has a folder only for
// the GPUs that it was given.
std::string state_of(const GpuFacts& gpu, const std::string& driver, bool has_folders,
                     bool has_folder) {
  const auto excluded = gpu.information.find("GPU Excluded");
  if (excluded != gpu.information.end() && excluded->second.value == "Yes") return "excluded";
  if (has_folder || (!has_folders && driver == kDriver)) return "active";
  if (driver == kDriver) return "hidden";
  return driver.empty() ? "no_driver" : "other_driver";
}

}  // namespace

// Reads the driver's version and parameters, and the GPUs that it shows in /proc.
Apply read_gpu_driver(const NodeFiles& files) {
  const std::vector<std::string> shown = files.names(kShown, kMaxGpus);
  const bool has_folders = files.exists(kShown);
  const Fact<std::string> params = files.text("/proc/driver/nvidia/params");
  const Fact<std::string> version = files.text("/proc/driver/nvidia/version");
  return [=](Inventory& inventory) {
    for (const std::string& name : shown)
      if (is_pci_address(name)) gpu_at(inventory, lower(name)).state = "active";
    inventory.gpu_driver_params = parse_pairs(params);
    inventory.gpu_driver_flavour = version.without_value<std::string>();
    if (version.is_known())
      inventory.gpu_driver_flavour.value =
          version.value.find("Open Kernel Module") != std::string::npos ? "open" : "proprietary";
    inventory.has_gpu_folders = has_folders;
  };
}

// Reads /proc/driver/nvidia/gpus/ADDRESS/information of one GPU.
Apply read_gpu_information(const NodeFiles& files, const std::string& address) {
  const Fact<std::string> text = files.text(std::string(kShown) + "/" + address + "/information");
  return [text, address](Inventory& inventory) {
    GpuFacts& gpu = gpu_at(inventory, address);
    gpu.information = parse_pairs(text);
    gpu.model = pair_of(gpu.information, "Model", text);
    gpu.uuid = pair_of(gpu.information, "GPU UUID", text);
    gpu.vbios = pair_of(gpu.information, "Video BIOS", text);
    gpu.firmware = pair_of(gpu.information, "GPU Firmware", text);
  };
}

void name_gpus(Inventory& inventory) {
  for (const auto& [address, device] : inventory.pci)
    if (is_gpu(device)) gpu_at(inventory, address);
  for (GpuFacts& gpu : inventory.gpus) {
    const PciDevice* device = inventory.pci_device(gpu.pci_address);
    const std::string driver = device == nullptr ? "" : device->driver.value;
    gpu.state = state_of(gpu, driver, inventory.has_gpu_folders, gpu.state == "active");
  }
  // A domain of more digits is a larger one.
  std::ranges::sort(inventory.gpus, {}, [](const GpuFacts& gpu) {
    return std::tuple(gpu.state != "active", gpu.pci_address.size(), gpu.pci_address);
  });
  if (inventory.gpus.size() > kMaxGpus) inventory.gpus.resize(kMaxGpus);
  for (std::size_t i = 0; i < inventory.gpus.size(); ++i)
    inventory.gpus[i].name = "gpu" + std::to_string(i);
}

}  // namespace railgauge::agent
