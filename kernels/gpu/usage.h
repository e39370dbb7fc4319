// Who else uses the GPUs, by NVML. In a container NVML may show processes by the host's numbers:
// this process then learns its own by what appears when its context does.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/result.h"
#include "kernels/dl/nvml.h"

namespace railgauge::gpu {

// A GPU as NVML knows it.
struct NvmlGpu {
  ml::Device device = nullptr;
  std::string pci_address;  // as Gpu::pci_address(): "0000:00:06.0"
};
// Those that can be asked; NVML must be in use. An error when they cannot be counted.
Result<std::vector<NvmlGpu>> nvml_gpus(const Nvml& nvml);

struct GpuUsage {
  std::string pci_address;
  std::vector<ml::Process> processes;  // with a context on it, but for this process
  bool shows_us = false;               // this process is among them, by the number it has itself
  bool mig = false;                    // partitioned
};
// Of every GPU; nothing where NVML is not there.
std::vector<GpuUsage> gpu_usage();
// The one process that `after` shows on every one of the GPUs `pci_addresses` and `before` shows on
// none of them: ours, when it took a context on each of them in between. Nothing where NVML shows
// us by our own number, or where there are several or none: whoever cannot be told from another is
// that other. Pure.
std::optional<unsigned> newcomer(const std::vector<GpuUsage>& before,
                                 const std::vector<GpuUsage>& after,
                                 std::span<const std::string> pci_addresses);
// Learns this process's number in NVML's list: to be called with the usage from before it took its
// first contexts, once it has one on each of the GPUs. What was learned is no user for gpu_usage().
void learn_own_number(const std::vector<GpuUsage>& before,
                      std::span<const std::string> pci_addresses);
// Forgets it; for tests.
void forget_own_number();
// The share of time that the GPU computed, in percent, of the driver's last period.
std::optional<unsigned> gpu_utilization_percent(std::string_view pci_address);

// "pid 4242 (python3, 1.0 GiB) and pid 7" or "" when there are none.
std::string users_in_words(const GpuUsage& usage);

}  // namespace railgauge::gpu
