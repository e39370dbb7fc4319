// Lists GPUs and their processes by NVML, with the form of each call that the driver has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/dl/nvml.h"

namespace railgauge {

// A GPU in NVML's list. The handle is valid while NVML is in use.
struct NvmlGpu {
  ml::Device device = nullptr;
  std::string pci_address;  // as sysfs and CUDA write it: "0000:00:06.0"
};
// Returns the GPUs that answer; lost GPUs and GPUs closed to this process are omitted. NVML must be
// in use. Fails when NVML cannot count the GPUs.
Result<std::vector<NvmlGpu>> nvml_gpus(const Nvml& nvml);
// Returns each process with a context for computing or graphics (an X server, a Vulkan program)
// once. Uses the newest form of the call that the library has; absent when no form answers.
std::optional<std::vector<ml::Process>> processes_on(const Nvml& nvml, ml::Device device);

}  // namespace railgauge
