// GPUs without the driver's library: its folder in /proc and what the PCI tree shows.
#include <algorithm>
#include <tuple>

#include "agent/inventory/facts/files.h"
#include "agent/inventory/sources/sources.h"

namespace railgauge::agent {
namespace {

constexpr const char* kShown = "/proc/driver/nvidia/gpus";
constexpr const char* kDriver = "nvidia";
constexpr std::uint32_t kNvidiaVendor = 0x10de;

// The value of a line "Model: \t NVIDIA H200"; absent where the text has no such line, or it is
// empty.
Fact<std::string> value_of(const Fact<std::string>& text, std::string_view name) {
  std::string value;
  for (const std::string_view line : lines_in(text.value))
    if (const auto halves = split_at(line, ':'); halves && halves->first == name)
      value = halves->second;
  return or_absent(text, value);
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

// Returns "active" if the driver shows the GPU here, else the reason. A container has a folder only
// for its own GPUs.
std::string state_of(const GpuFacts& gpu, const std::string& driver, bool has_folders,
                     bool has_folder) {
  if (gpu.is_excluded) return "excluded";
  if (has_folder || (!has_folders && driver == kDriver)) return "active";
  if (driver == kDriver) return "hidden";
  return driver.empty() ? "no_driver" : "other_driver";
}

}  // namespace

// Reads the driver's version, and the GPUs that it shows in /proc.
Apply read_gpu_driver(const NodeFiles& files) {
  const std::vector<std::string> shown = files.names(kShown, kMaxGpus);
  const bool has_folders = files.exists(kShown);
  const Fact<std::string> version = files.text("/proc/driver/nvidia/version");
  return [=](Inventory& inventory) {
    for (const std::string& name : shown)
      if (is_pci_address(name)) gpu_at(inventory, lower(name)).state = "active";
    inventory.gpu_driver_flavour = version.as([](const std::string& text) {
      const bool is_open = text.find("Open Kernel Module") != std::string::npos;
      return std::string(is_open ? "open" : "proprietary");
    });
    inventory.has_gpu_folders = has_folders;
  };
}

// Reads /proc/driver/nvidia/gpus/ADDRESS/information of one GPU.
Apply read_gpu_information(const NodeFiles& files, const std::string& address) {
  const Fact<std::string> text = files.text(std::string(kShown) + "/" + address + "/information");
  return [text, address](Inventory& inventory) {
    GpuFacts& gpu = gpu_at(inventory, address);
    gpu.model = value_of(text, "Model");
    gpu.uuid = value_of(text, "GPU UUID");
    gpu.vbios = value_of(text, "Video BIOS");
    gpu.is_excluded = value_of(text, "GPU Excluded").is("Yes");
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
