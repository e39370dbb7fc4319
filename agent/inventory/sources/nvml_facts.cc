// Facts of GPUs that only the driver's library reports. NVML is opened for the reading and closed
// after it: an open NVML would keep the driver from being unloaded, which an upgrade does. No CUDA
// context is made.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "agent/inventory/facts/files.h"
#include "agent/inventory/sources/sources.h"
#include "kernels/core/text/text.h"
#include "kernels/dl/nvml.h"

namespace railgauge::agent {
namespace {

constexpr std::size_t kMostTextBytesHere = 96;
constexpr unsigned kMostGpus = 64;
constexpr unsigned kTen = 10;

// Calls for one GPU. The facts are independent: one that this driver or GPU lacks is absent.
class Asker {
 public:
  Asker(const Nvml& nvml, ml::Device device) : nvml_(nvml), device_(device) {}

  // `call(device)` returns NVML's code; `value()` what it wrote.
  template <class T, class Slot, class... Rest, class Value>
  Fact<T> ask(const char* name, Slot slot, Value value, Rest... rest) const {
    if (slot == nullptr) return Fact<T>::absent(name);
    const ml::Return returned = last_returned_ = slot(device_, rest...);
    if (returned == ml::kSuccess) return Fact<T>::known(value(), name);
    if (returned == ml::kNotSupported || returned == ml::kNotFound) return Fact<T>::absent(name);
    const std::string reason = nvml_status(nvml_, returned, name).error().message;
    return returned == ml::kNoPermission ? Fact<T>::unknown(name, reason)
                                         : Fact<T>::error(name, reason);
  }
  template <class T, class Raw, class Slot, class... Rest>
  Fact<T> number(const char* name, Slot slot, Rest... rest) const {
    Raw raw{};
    return ask<T>(
        name, slot, [&raw] { return static_cast<T>(raw); }, rest..., &raw);
  }
  // NVML's code of the last call that was made.
  [[nodiscard]] ml::Return last_returned() const { return last_returned_; }

 private:
  const Nvml& nvml_;
  ml::Device device_;
  mutable ml::Return last_returned_ = ml::kSuccess;
};

// Memory and BAR1 sizes.
void ask_memory(const Asker& asker, const Nvml& nvml, NvmlGpu& gpu) {
  ml::Memory memory{};
  gpu.bar1_total_bytes = asker.ask<std::uint64_t>(
      "nvmlDeviceGetBAR1MemoryInfo", nvml.device_get_bar1_memory,
      [&] { return memory.total_bytes; }, &memory);
  gpu.bar1_used_bytes = gpu.bar1_total_bytes;
  gpu.bar1_used_bytes.value = memory.used_bytes;
  ml::Memory frame{};
  gpu.memory_total_bytes = asker.ask<std::uint64_t>(
      "nvmlDeviceGetMemoryInfo", nvml.device_get_memory_info, [&] { return frame.total_bytes; },
      &frame);
  gpu.memory_used_bytes = gpu.memory_total_bytes;
  gpu.memory_used_bytes.value = frame.used_bytes;
}

// ECC counts and row remaps.
void ask_errors(const Asker& asker, const Nvml& nvml, NvmlGpu& gpu) {
  int now = 0;
  int pending = 0;
  gpu.ecc_enabled = asker.ask<bool>(
      "nvmlDeviceGetEccMode", nvml.device_get_ecc_mode, [&] { return now == ml::kEnabled; }, &now,
      &pending);
  gpu.ecc_enabled_after_reboot = gpu.ecc_enabled;
  gpu.ecc_enabled_after_reboot.value = pending == ml::kEnabled;
  const auto count = [&](int kind, int since) {
    return asker.number<std::uint64_t, unsigned long long>("nvmlDeviceGetTotalEccErrors",
                                                           nvml.device_get_ecc_errors, kind, since);
  };
  gpu.ecc_volatile_uncorrected = count(ml::kUncorrected, ml::kVolatileCount);
  gpu.ecc_volatile_corrected = count(ml::kCorrected, ml::kVolatileCount);
  gpu.ecc_aggregate_uncorrected = count(ml::kUncorrected, ml::kAggregateCount);
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned is_pending = 0;
  unsigned has_failed = 0;
  const Fact<bool> rows = asker.ask<bool>(
      "nvmlDeviceGetRemappedRows", nvml.device_get_remapped_rows, [] { return true; }, &corrected,
      &uncorrected, &is_pending, &has_failed);
  gpu.remapped_rows_correctable = rows.without_value<std::uint32_t>();
  gpu.remapped_rows_correctable.value = corrected;
  gpu.remapped_rows_uncorrectable = rows.without_value<std::uint32_t>();
  gpu.remapped_rows_uncorrectable.value = uncorrected;
  gpu.remap_pending = rows;
  gpu.remap_pending.value = is_pending != 0;
  gpu.remap_failed = rows;
  gpu.remap_failed.value = has_failed != 0;
  gpu.pcie_replays = asker.number<std::uint64_t, unsigned>("nvmlDeviceGetPcieReplayCounter",
                                                           nvml.device_get_pcie_replays);
}

// Persistence, compute and MIG mode, compute capability, brand and serial number.
void ask_modes(const Asker& asker, const Nvml& nvml, NvmlGpu& gpu) {
  gpu.persistence_mode =
      asker.number<bool, int>("nvmlDeviceGetPersistenceMode", nvml.device_get_persistence);
  gpu.compute_mode =
      asker.number<std::uint32_t, int>("nvmlDeviceGetComputeMode", nvml.device_get_compute_mode);
  unsigned now = 0;
  unsigned pending = 0;
  gpu.mig_mode = asker.ask<bool>(
      "nvmlDeviceGetMigMode", nvml.device_get_mig_mode, [&] { return now == ml::kMigOn; }, &now,
      &pending);
  int major = 0;
  int minor = 0;
  gpu.compute_capability = asker.ask<std::uint32_t>(
      "nvmlDeviceGetCudaComputeCapability", nvml.device_get_capability,
      [&] { return static_cast<std::uint32_t>(major) * kTen + static_cast<std::uint32_t>(minor); },
      &major, &minor);
  gpu.brand = asker.number<std::uint32_t, int>("nvmlDeviceGetBrand", nvml.device_get_brand);
  std::array<char, kMostTextBytesHere> serial{};
  gpu.serial = asker.ask<std::string>(
      "nvmlDeviceGetSerial", nvml.device_get_serial,
      [&] { return valid_utf8(std::string(serial.data())); }, serial.data(),
      static_cast<unsigned>(serial.size() - 1));
}

// Clocks, the reasons that hold them down, temperature and utilisation.
void ask_clocks(const Asker& asker, const Nvml& nvml, NvmlGpu& gpu) {
  const auto clock = [&](int kind) {
    return asker.number<std::uint32_t, unsigned>("nvmlDeviceGetClockInfo",
                                                 nvml.device_get_clock_info, kind);
  };
  const auto most = [&](int kind) {
    return asker.number<std::uint32_t, unsigned>("nvmlDeviceGetMaxClockInfo",
                                                 nvml.device_get_max_clock, kind);
  };
  gpu.sm_clock_mhz = clock(ml::kClockSm);
  gpu.memory_clock_mhz = clock(ml::kClockMemory);
  gpu.max_sm_clock_mhz = most(ml::kClockSm);
  gpu.max_memory_clock_mhz = most(ml::kClockMemory);
  gpu.clock_reasons = asker.number<std::uint64_t, unsigned long long>(
      "nvmlDeviceGetCurrentClocksEventReasons", nvml.device_get_clock_reasons != nullptr
                                                    ? nvml.device_get_clock_reasons
                                                    : nvml.device_get_throttle_reasons);
  gpu.temperature_c = asker.number<std::uint32_t, unsigned>(
      "nvmlDeviceGetTemperature", nvml.device_get_temperature, ml::kSensorGpu);
  ml::Utilization used{};
  gpu.utilization_percent = asker.ask<std::uint32_t>(
      "nvmlDeviceGetUtilizationRates", nvml.device_get_utilization,
      [&] { return used.gpu_percent; }, &used);
}

// Their number alone: NVML says that there was no room, and how many there are.
template <class Slot>
Fact<std::uint32_t> count_processes(const char* name, Slot slot, ml::Device device) {
  using Number = Fact<std::uint32_t>;
  if (slot == nullptr) return Number::absent(name);
  unsigned count = 0;
  const ml::Return returned = slot(device, &count, nullptr);
  if (returned == ml::kSuccess || returned == ml::kInsufficientSize)
    return Number::known(count, name);
  return Number::unknown(name, fmt::format("{}: NVML error {}", name, returned));
}

// The state and remote end of each NVLink.
void ask_links(const Asker& asker, const Nvml& nvml, NvmlGpu& gpu) {
  std::vector<bool> active;
  std::vector<std::string> remotes;
  for (unsigned link = 0; link < ml::kMostLinks; ++link) {
    const auto state =
        asker.number<bool, int>("nvmlDeviceGetNvLinkState", nvml.device_get_link_state, link);
    // Past its last link a GPU answers that the number is wrong, one without links for the first.
    if (state.is_absent() || asker.last_returned() == ml::kInvalidArgument) break;
    if (!state.is_known()) {
      gpu.nvlink_active = state.without_value<std::vector<bool>>();
      return;
    }
    ml::PciInfo remote{};
    const Fact<std::string> address = asker.ask<std::string>(
        "nvmlDeviceGetNvLinkRemotePciInfo_v2", nvml.device_get_link_remote,
        [&] { return short_address(std::string(static_cast<const char*>(remote.bus_id))); }, link,
        &remote);
    active.push_back(state.value);
    remotes.push_back(address.value);
  }
  if (active.empty()) {
    gpu.nvlink_active = Fact<std::vector<bool>>::absent("nvmlDeviceGetNvLinkState");
    return;
  }
  gpu.nvlink_active = Fact<std::vector<bool>>::known(active, "nvmlDeviceGetNvLinkState");
  gpu.nvlink_remotes =
      Fact<std::vector<std::string>>::known(remotes, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
}

// All facts of one GPU.
NvmlGpu ask_gpu(const Nvml& nvml, ml::Device device) {
  const Asker asker(nvml, device);
  NvmlGpu gpu;
  ask_memory(asker, nvml, gpu);
  ask_errors(asker, nvml, gpu);
  ask_modes(asker, nvml, gpu);
  ask_clocks(asker, nvml, gpu);
  ask_links(asker, nvml, gpu);
  gpu.compute_processes = nvml.device_get_compute_processes != nullptr
                              ? count_processes("nvmlDeviceGetComputeRunningProcesses",
                                                nvml.device_get_compute_processes, device)
                              : count_processes("nvmlDeviceGetComputeRunningProcesses",
                                                nvml.device_get_compute_processes_v2, device);
  gpu.graphics_processes = nvml.device_get_graphics_processes != nullptr
                               ? count_processes("nvmlDeviceGetGraphicsRunningProcesses",
                                                 nvml.device_get_graphics_processes, device)
                               : count_processes("nvmlDeviceGetGraphicsRunningProcesses",
                                                 nvml.device_get_graphics_processes_v2, device);
  ml::FabricInfo fabric{};
  gpu.fabric_state = asker.ask<std::uint32_t>(
      "nvmlDeviceGetGpuFabricInfo", nvml.device_get_fabric_info,
      [&] { return std::uint32_t{fabric.state}; }, &fabric);
  gpu.fabric_status = gpu.fabric_state;
  gpu.fabric_status.value = static_cast<std::uint32_t>(fabric.status);
  return gpu;
}

// Records why NVML was not asked.
Apply not_asked(std::string reason) {
  return [reason = std::move(reason)](Inventory& inventory) { inventory.nvml_reason = reason; };
}

}  // namespace

// "00000000:1B:00.0" as sysfs has it.
std::string short_address(const std::string& bus_id) {
  std::string address = lower(bus_id);
  if (address.size() == 16 && address.starts_with("0000")) address = address.substr(4);
  return is_pci_address(address) ? address : "";
}

// Asks NVML about every GPU. A GPU that fell off the bus is left out.
Apply read_nvml() {
  const auto use = use_nvml();
  if (!use) return not_asked(use.error().message);
  const Nvml& nvml = loaded_nvml();
  unsigned count = 0;
  if (const Status status =
          nvml_status(nvml, nvml.device_get_count(&count), "NVML: count the GPUs");
      !status)
    return not_asked(status.error().message);
  std::map<std::string, NvmlGpu> gpus;
  for (unsigned i = 0; i < std::min(count, kMostGpus); ++i) {
    ml::Device device = nullptr;
    ml::PciInfo place{};
    if (nvml.device_get_handle_by_index(i, &device) != ml::kSuccess ||
        nvml.device_get_pci_info(device, &place) != ml::kSuccess)
      continue;  // it has fallen off the bus: sysfs and the kernel log show it
    gpus[short_address(std::string(static_cast<const char*>(place.bus_id)))] =
        ask_gpu(nvml, device);
  }
  return [gpus](Inventory& inventory) {
    for (GpuFacts& gpu : inventory.gpus)
      if (const auto found = gpus.find(gpu.pci_address); found != gpus.end())
        gpu.nvml = found->second;
  };
}

}  // namespace railgauge::agent
