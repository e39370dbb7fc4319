#include "kernels/gpu/usage.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <set>

#include <fmt/format.h>

namespace railgauge::gpu {
namespace {

constexpr std::size_t kMaxNamedUsers = 4;
constexpr unsigned kMaxProcesses = 1024;  // on one GPU

// This process by NVML's count, where that is not its own; 0: not known.
std::atomic<unsigned> g_own_number{0};

// NVML writes the domain with eight digits, CUDA and sysfs with four.
std::string short_address(std::string_view bus_id) {
  constexpr std::size_t kLength = std::string_view("0000:00:00.0").size();
  if (bus_id.size() > kLength) bus_id.remove_prefix(bus_id.size() - kLength);
  std::string out(bus_id);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c | 0x20) : c;
  });
  return out;
}

GpuUsage usage_of(const Nvml& nvml, const NvmlGpu& gpu) {
  GpuUsage usage;
  usage.pci_address = gpu.pci_address;
  unsigned mode = 0;
  unsigned pending = 0;
  usage.mig = nvml.device_get_mig_mode != nullptr &&
              nvml.device_get_mig_mode(gpu.device, &mode, &pending) == ml::kSuccess &&
              mode == ml::kMigOn;
  if (nvml.device_get_compute_processes == nullptr) return usage;
  std::vector<ml::Process> list(kMaxProcesses);
  unsigned count = kMaxProcesses;
  if (nvml.device_get_compute_processes(gpu.device, &count, list.data()) != ml::kSuccess)
    return usage;
  list.resize(std::min(count, kMaxProcesses));
  const auto self = static_cast<unsigned>(getpid());
  usage.shows_us = std::ranges::count(list, self, &ml::Process::pid) != 0;
  const unsigned learned = g_own_number;
  std::erase_if(list, [self, learned](const ml::Process& process) {
    return process.pid == self || (learned != 0 && process.pid == learned);
  });
  usage.processes = std::move(list);
  return usage;
}

std::string user_in_words(const ml::Process& process) {
  std::string name;
  std::getline(std::ifstream(fmt::format("/proc/{}/comm", process.pid)), name);
  constexpr unsigned long long kMostBytes = 1ULL << 48U;  // above: NVML does not know
  const bool known = process.used_bytes != 0 && process.used_bytes < kMostBytes;
  const std::string bytes =
      known ? fmt::format("{:.1f} GB", static_cast<double>(process.used_bytes) / 1e9) : "";
  std::string inside = name;
  if (!name.empty() && known) inside += ", ";
  inside += bytes;
  return fmt::format("pid {}{}", process.pid, inside.empty() ? "" : " (" + inside + ")");
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

std::vector<GpuUsage> gpu_usage() {
  std::vector<GpuUsage> all;
  const auto use = use_nvml();
  if (!use) return all;
  const auto gpus = nvml_gpus(loaded_nvml());
  if (!gpus) return all;
  for (const NvmlGpu& gpu : *gpus) all.push_back(usage_of(loaded_nvml(), gpu));
  return all;
}

std::optional<unsigned> newcomer(const std::vector<GpuUsage>& before,
                                 const std::vector<GpuUsage>& after,
                                 std::span<const std::string> pci_addresses) {
  const auto shown = [](const std::vector<GpuUsage>& usage, const std::string& address,
                        unsigned pid) {
    const auto gpu = std::ranges::find(usage, address, &GpuUsage::pci_address);
    return gpu != usage.end() && std::ranges::count(gpu->processes, pid, &ml::Process::pid) != 0;
  };
  std::set<unsigned> new_ones;
  for (const GpuUsage& gpu : after) {
    if (std::ranges::count(pci_addresses, gpu.pci_address) == 0) continue;
    if (gpu.shows_us) return std::nullopt;
    for (const ml::Process& process : gpu.processes) {
      const bool is_new = std::ranges::none_of(pci_addresses, [&](const std::string& address) {
        return shown(before, address, process.pid);
      });
      if (is_new) new_ones.insert(process.pid);
    }
  }
  if (new_ones.size() != 1) return std::nullopt;
  const bool everywhere = std::ranges::all_of(pci_addresses, [&](const std::string& address) {
    return shown(after, address, *new_ones.begin());
  });
  return everywhere ? std::optional(*new_ones.begin()) : std::nullopt;
}

void learn_own_number(const std::vector<GpuUsage>& before,
                      std::span<const std::string> pci_addresses) {
  if (g_own_number != 0 || before.empty()) return;
  g_own_number = newcomer(before, gpu_usage(), pci_addresses).value_or(0);
}

void forget_own_number() { g_own_number = 0; }

std::optional<unsigned> gpu_utilization_percent(std::string_view pci_address) {
  const auto use = use_nvml();
  if (!use) return std::nullopt;
  const auto gpus = nvml_gpus(loaded_nvml());
  if (!gpus) return std::nullopt;
  const auto gpu = std::ranges::find(*gpus, pci_address, &NvmlGpu::pci_address);
  ml::Utilization utilization{};
  if (gpu == gpus->end() ||
      loaded_nvml().device_get_utilization(gpu->device, &utilization) != ml::kSuccess)
    return std::nullopt;
  return utilization.gpu_percent;
}

std::string users_in_words(const GpuUsage& usage) {
  std::string words;
  const std::size_t named = std::min(usage.processes.size(), kMaxNamedUsers);
  for (std::size_t i = 0; i < named; ++i)
    words += (i == 0 ? "" : ", ") + user_in_words(usage.processes[i]);
  if (named < usage.processes.size())
    words += fmt::format(" and {} more", usage.processes.size() - named);
  return words;
}

}  // namespace railgauge::gpu
