// GPUs and their processes as NVML lists them, by whichever form of a call the driver has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/dl/nvml.h"

namespace railgauge {

// A GPU as NVML knows it. The handle is valid while NVML is in use.
struct NvmlGpu {
  ml::Device device = nullptr;
  std::string pci_address;  // as sysfs and CUDA write it: "0000:00:06.0"
};
// The GPUs that answer; one that is lost or closed to this process is left out. NVML must be in
// use. An error when they cannot be counted.
Result<std::vector<NvmlGpu>> nvml_gpus(const Nvml& nvml);
// Every process with a context for computing or for graphics (an X server, a Vulkan program), each
// once. Uses the newest form of the call that the library has. Nothing where no form answers.
std::optional<std::vector<ml::Process>> processes_on(const Nvml& nvml, ml::Device device);

}  // namespace railgauge
