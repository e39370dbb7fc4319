// Who else uses the GPUs, by NVML. Asked before this process has a context of its own: in a
// container NVML may show processes by the host's numbers, and we could not tell ourselves among
// them.
#pragma once

#include <optional>
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
  bool mig = false;                    // partitioned
};
// Of every GPU; nothing where NVML is not there.
std::vector<GpuUsage> gpu_usage();
// The share of time that the GPU computed, in percent, of the driver's last period.
std::optional<unsigned> gpu_utilization_percent(std::string_view pci_address);

// "pid 4242 (python3, 1.0 GiB) and pid 7" or "" when there are none.
std::string users_in_words(const GpuUsage& usage);

}  // namespace railgauge::gpu
