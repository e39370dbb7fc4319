// Lists of GPUs and processes, whichever form of the call the driver has.
#include "kernels/dl/nvml_devices.h"

#include <algorithm>
#include <string_view>

namespace railgauge {
namespace {

// Processes that are read from one GPU; more are left out.
constexpr unsigned kMaxProcesses = 1024;

// An address as CUDA and sysfs write it. NVML writes the domain with eight digits and letters in
// upper case.
std::string short_address(std::string_view bus_id) {
  constexpr std::size_t kLength = std::string_view("0000:00:00.0").size();
  if (bus_id.size() > kLength) bus_id.remove_prefix(bus_id.size() - kLength);
  std::string out(bus_id);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c | 0x20) : c;
  });
  return out;
}

// One kind of contexts, by the forms of the call that lists them.
using List = ml::Return (*)(ml::Device, unsigned*, ml::Process*);
using ListV1 = ml::Return (*)(ml::Device, unsigned*, ml::ProcessV1*);

// The processes that one call lists, or nothing where it fails.
template <class Process>
std::optional<std::vector<Process>> listed(ml::Return (*call)(ml::Device, unsigned*, Process*),
                                           ml::Device device) {
  std::vector<Process> list(kMaxProcesses);
  unsigned count = kMaxProcesses;
  if (call(device, &count, list.data()) != ml::kSuccess) return std::nullopt;
  list.resize(std::min(count, kMaxProcesses));
  return list;
}

// Uses the newest form that the driver has. A list of the first form gets the layout of the newer
// ones.
std::optional<std::vector<ml::Process>> listed_by(List v3, List v2, ListV1 v1, ml::Device device) {
  if (v3 != nullptr || v2 != nullptr) return listed(v3 != nullptr ? v3 : v2, device);
  if (v1 == nullptr) return std::nullopt;
  const auto old = listed(v1, device);
  if (!old) return std::nullopt;
  std::vector<ml::Process> list;
  for (const ml::ProcessV1& process : *old) {
    ml::Process& made = list.emplace_back();
    made.pid = process.pid;
    made.used_bytes = process.used_bytes;
  }
  return list;
}

}  // namespace

Result<std::vector<NvmlGpu>> nvml_gpus(const Nvml& nvml) {
  unsigned count = 0;
  RG_TRY_OK(nvml_status(nvml, nvml.device_get_count(&count), "NVML: count the GPUs"));
  std::vector<NvmlGpu> gpus;
  for (unsigned index = 0; index < count; ++index) {
    NvmlGpu gpu;
    ml::PciInfo pci{};
    // A GPU that is lost or closed to us does not answer; the others do.
    if (nvml.device_get_handle_by_index(index, &gpu.device) != ml::kSuccess) continue;
    if (nvml.device_get_pci_info(gpu.device, &pci) != ml::kSuccess) continue;
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    gpu.pci_address = short_address(static_cast<const char*>(pci.bus_id));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

// A process with both kinds of contexts is in both lists; it is kept once.
std::optional<std::vector<ml::Process>> processes_on(const Nvml& nvml, ml::Device device) {
  auto all = listed_by(nvml.device_get_compute_processes, nvml.device_get_compute_processes_v2,
                       nvml.device_get_compute_processes_v1, device);
  auto drawing =
      listed_by(nvml.device_get_graphics_processes, nvml.device_get_graphics_processes_v2,
                nvml.device_get_graphics_processes_v1, device);
  if (!all) return drawing;
  if (!drawing) return all;
  for (const ml::Process& process : *drawing)
    if (std::ranges::count(*all, process.pid, &ml::Process::pid) == 0) all->push_back(process);
  return all;
}

}  // namespace railgauge
