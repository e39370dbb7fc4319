#include "agent/inventory/facts/gpus.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "agent/inventory/facts/files.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kMaxPciDevices = 4096;
constexpr int kMaxInformationLines = 64;
constexpr const char* kVendor = "0x10de";
constexpr const char* kDriver = "nvidia";

// Display controllers that compute: "VGA compatible" and "3D". The switches and bridges of the same
// vendor have other classes.
bool is_gpu(const fs::path& device) {
  const std::string kind = line_of(device / "class");
  return line_of(device / "vendor") == kVendor &&
         (kind.starts_with("0x0300") || kind.starts_with("0x0302"));
}

// "Model: \t NVIDIA H200" and so on, one a line.
std::map<std::string, std::string> read_information(const fs::path& path) {
  std::map<std::string, std::string> out;
  std::ifstream file(path);
  std::string line;
  for (int i = 0; i < kMaxInformationLines && std::getline(file, line); ++i) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (begin == std::string::npos) continue;
    const std::size_t end = line.find_last_not_of(" \t\r");
    out[line.substr(0, colon)] = valid_utf8(line.substr(begin, end + 1 - begin));
  }
  return out;
}

// Devices of the bus, and what the driver shows where sysfs is not to be seen (some containers).
std::set<std::string> addresses_of(const fs::path& devices, const fs::path& shown) {
  std::set<std::string> addresses;
  for (const std::string& name : names_in(devices, kMaxPciDevices))
    if (is_pci_address(name) && is_gpu(devices / name)) addresses.insert(lower(name));
  for (const std::string& name : names_in(shown, kMaxGpus))
    if (is_pci_address(name)) addresses.insert(lower(name));
  return addresses;
}

// Why the driver does not show a GPU here; "active" when it does. A container has a folder only for
// the GPUs that it was given.
std::string state_of(const api::Gpu& gpu, bool has_folders, bool has_folder, bool excluded) {
  if (excluded) return "excluded";
  if (has_folder || (!has_folders && gpu.driver() == kDriver)) return "active";
  if (gpu.driver() == kDriver) return "hidden";
  return gpu.driver().empty() ? "no_driver" : "other_driver";
}

api::Gpu read_gpu(const std::string& address, const fs::path& device, const fs::path& shown) {
  std::error_code ignored;
  auto information = read_information(shown / address / "information");
  api::Gpu gpu;
  gpu.set_pci_address(address);
  gpu.set_model(information["Model"]);
  gpu.set_uuid(information["GPU UUID"]);
  gpu.set_vbios(information["Video BIOS"]);
  gpu.set_driver(link_name(device / "driver"));
  gpu.set_numa_node_plus_one(numa_node_plus_one(device));
  gpu.set_state(state_of(gpu, fs::is_directory(shown, ignored),
                         fs::is_directory(shown / address, ignored),
                         information["GPU Excluded"] == "Yes"));
  return gpu;
}
}  // namespace

std::vector<api::Gpu> list_gpus(const std::string& sysfs, const std::string& proc) {
  const fs::path devices = sysfs + "/bus/pci/devices";
  const fs::path shown = proc + "/driver/nvidia/gpus";
  std::vector<api::Gpu> gpus;
  for (const std::string& address : addresses_of(devices, shown)) {
    if (gpus.size() == kMaxGpus) break;
    gpus.push_back(read_gpu(address, devices / address, shown));
  }
  // A domain of more digits is a larger one.
  std::ranges::sort(gpus, {}, [](const api::Gpu& gpu) {
    return std::tuple(gpu.state() != "active", gpu.pci_address().size(), gpu.pci_address());
  });
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].set_name("gpu" + std::to_string(i));
  return gpus;
}

}  // namespace railgauge::agent
