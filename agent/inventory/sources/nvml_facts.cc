// GPU facts that only the driver's library reports. NVML is open during the reading only: an open
// NVML would prevent an upgrade from unloading the driver. No CUDA context is made.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "agent/inventory/facts/files.h"
#include "agent/inventory/sources/sources.h"
#include "kernels/dl/nvml_devices.h"

namespace railgauge::agent {
namespace {

constexpr int kTen = 10;

// "00000000:1B:00.0" as sysfs has it; "" for anything else.
std::string short_address(const std::string& bus_id) {
  std::string address = lower(bus_id);
  if (address.size() == 16 && address.starts_with("0000")) address = address.substr(4);
  return is_pci_address(address) ? address : "";
}

// Calls for one GPU. The facts are independent: one that this driver or GPU lacks is absent.
class Asker {
 public:
  Asker(const Nvml& nvml, ml::Device device) : nvml_(nvml), device_(device) {}

  // Known if `slot(device, rest...)` succeeded and wrote to the pointers in `rest`.
  template <class Slot, class... Rest>
  FactInfo call(const char* name, Slot slot, Rest... rest) const {
    if (slot == nullptr) return {FactState::kAbsent, name, {}};
    const ml::Return returned = last_returned_ = slot(device_, rest...);
    if (returned == ml::kSuccess) return {FactState::kKnown, name, {}};
    if (returned == ml::kNotSupported || returned == ml::kNotFound)
      return {FactState::kAbsent, name, {}};
    const bool is_refused = returned == ml::kNoPermission;
    return {is_refused ? FactState::kUnknown : FactState::kError, name,
            nvml_status(nvml_, returned, name).error().message};
  }
  // The number that `slot(device, rest..., &number)` writes.
  template <class T, class Raw, class Slot, class... Rest>
  Fact<T> number(const char* name, Slot slot, Rest... rest) const {
    Raw raw{};
    const FactInfo info = call(name, slot, rest..., &raw);
    return {info, static_cast<T>(raw)};
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
  ml::Memory bar1{};
  const FactInfo told =
      asker.call("nvmlDeviceGetBAR1MemoryInfo", nvml.device_get_bar1_memory, &bar1);
  gpu.bar1_total_bytes = {told, bar1.total_bytes};
  gpu.bar1_used_bytes = {told, bar1.used_bytes};
  ml::Memory frame{};
  const FactInfo size = asker.call("nvmlDeviceGetMemoryInfo", nvml.device_get_memory_info, &frame);
  gpu.memory_total_bytes = {size, frame.total_bytes};
}

// ECC counts and row remaps.
void ask_errors(const Asker& asker, const Nvml& nvml, NvmlGpu& gpu) {
  int now = 0;
  int after_reboot = 0;
  const FactInfo ecc =
      asker.call("nvmlDeviceGetEccMode", nvml.device_get_ecc_mode, &now, &after_reboot);
  gpu.ecc_enabled = {ecc, now == ml::kEnabled};
  const auto count = [&](int kind) {
    return asker.number<std::uint64_t, unsigned long long>(
        "nvmlDeviceGetTotalEccErrors", nvml.device_get_ecc_errors, kind, ml::kVolatileCount);
  };
  gpu.ecc_volatile_uncorrected = count(ml::kUncorrected);
  gpu.ecc_volatile_corrected = count(ml::kCorrected);
  std::array<unsigned, 4> rows{};  // corrected, uncorrected, whether some wait, whether one failed
  const FactInfo remaps = asker.call("nvmlDeviceGetRemappedRows", nvml.device_get_remapped_rows,
                                     &rows[0], &rows[1], &rows[2], &rows[3]);
  gpu.remap_pending = {remaps, rows[2] != 0};
  gpu.remap_failed = {remaps, rows[3] != 0};
  gpu.pcie_replays = asker.number<std::uint64_t, unsigned>("nvmlDeviceGetPcieReplayCounter",
                                                           nvml.device_get_pcie_replays);
}

// Persistence, compute and MIG mode, and compute capability.
void ask_modes(const Asker& asker, const Nvml& nvml, NvmlGpu& gpu) {
  gpu.persistence_mode =
      asker.number<bool, int>("nvmlDeviceGetPersistenceMode", nvml.device_get_persistence);
  gpu.compute_mode =
      asker.number<std::uint32_t, int>("nvmlDeviceGetComputeMode", nvml.device_get_compute_mode);
  unsigned now = 0;
  unsigned after_reboot = 0;
  const FactInfo mig =
      asker.call("nvmlDeviceGetMigMode", nvml.device_get_mig_mode, &now, &after_reboot);
  gpu.mig_mode = {mig, now == ml::kMigOn};
  int major = 0;
  int minor = 0;
  const FactInfo capability =
      asker.call("nvmlDeviceGetCudaComputeCapability", nvml.device_get_capability, &major, &minor);
  gpu.compute_capability = {capability, static_cast<std::uint32_t>(major * kTen + minor)};
}

// Clocks and the reasons that hold them down.
void ask_clocks(const Asker& asker, const Nvml& nvml, NvmlGpu& gpu) {
  gpu.sm_clock_mhz = asker.number<std::uint32_t, unsigned>(
      "nvmlDeviceGetClockInfo", nvml.device_get_clock_info, ml::kClockSm);
  gpu.max_sm_clock_mhz = asker.number<std::uint32_t, unsigned>(
      "nvmlDeviceGetMaxClockInfo", nvml.device_get_max_clock, ml::kClockSm);
  gpu.clock_reasons = asker.number<std::uint64_t, unsigned long long>(
      "nvmlDeviceGetCurrentClocksEventReasons", nvml.device_get_clock_reasons != nullptr
                                                    ? nvml.device_get_clock_reasons
                                                    : nvml.device_get_throttle_reasons);
}

// Returns the number of processes: with no room for the list, NVML returns the number.
Fact<std::uint32_t> count_processes(const Nvml& nvml, ml::Device device) {
  using Number = Fact<std::uint32_t>;
  constexpr const char* kName = "nvmlDeviceGetComputeRunningProcesses";
  const auto slot = nvml.device_get_compute_processes != nullptr
                        ? nvml.device_get_compute_processes
                        : nvml.device_get_compute_processes_v2;
  if (slot == nullptr) return Number::absent(kName);
  unsigned count = 0;
  const ml::Return returned = slot(device, &count, nullptr);
  if (returned == ml::kSuccess || returned == ml::kInsufficientSize)
    return Number::known(count, kName);
  return Number::unknown(kName, fmt::format("{}: NVML error {}", kName, returned));
}

// The state and remote end of each NVLink.
void ask_links(const Asker& asker, const Nvml& nvml, NvmlGpu& gpu) {
  constexpr const char* kState = "nvmlDeviceGetNvLinkState";
  constexpr const char* kRemote = "nvmlDeviceGetNvLinkRemotePciInfo_v2";
  std::vector<bool> active;
  std::vector<std::string> remotes;
  for (unsigned link = 0; link < ml::kMostLinks; ++link) {
    const auto state = asker.number<bool, int>(kState, nvml.device_get_link_state, link);
    // A GPU rejects the number behind its last link, or the first number if it has no links.
    if (state.is_absent() || asker.last_returned() == ml::kInvalidArgument) break;
    if (!state.is_known()) {
      gpu.nvlink_active = state.without_value<std::vector<bool>>();
      return;
    }
    ml::PciInfo remote{};
    const bool is_told = asker.call(kRemote, nvml.device_get_link_remote, link, &remote).is_known();
    active.push_back(state.value);
    remotes.push_back(is_told ? short_address(static_cast<const char*>(remote.bus_id)) : "");
  }
  if (active.empty()) {
    gpu.nvlink_active = Fact<std::vector<bool>>::absent(kState);
    return;
  }
  gpu.nvlink_active = Fact<std::vector<bool>>::known(active, kState);
  gpu.nvlink_remotes = Fact<std::vector<std::string>>::known(remotes, kRemote);
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
  gpu.compute_processes = count_processes(nvml, device);
  ml::FabricInfo fabric{};
  const FactInfo told =
      asker.call("nvmlDeviceGetGpuFabricInfo", nvml.device_get_fabric_info, &fabric);
  gpu.fabric_state = {told, fabric.state};
  gpu.fabric_status = {told, static_cast<std::uint32_t>(fabric.status)};
  return gpu;
}

// Records why NVML was not asked.
Apply not_asked(std::string reason) {
  return [reason = std::move(reason)](Inventory& inventory) { inventory.nvml_reason = reason; };
}

}  // namespace

// Asks NVML about every GPU. One that fell off the bus is left out: sysfs and the kernel log show
// it.
Apply read_nvml() {
  const auto use = use_nvml();
  if (!use) return not_asked(use.error().message);
  const Nvml& nvml = loaded_nvml();
  const auto devices = nvml_gpus(nvml);
  if (!devices) return not_asked(devices.error().message);
  std::map<std::string, NvmlGpu> gpus;
  for (const auto& [device, address] : *devices) gpus[address] = ask_gpu(nvml, device);
  return [gpus](Inventory& inventory) {
    for (GpuFacts& gpu : inventory.gpus)
      if (const auto found = gpus.find(gpu.pci_address); found != gpus.end())
        gpu.nvml = found->second;
  };
}

}  // namespace railgauge::agent
