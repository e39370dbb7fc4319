// Whether a NIC can register a GPU's memory, tried with a small buffer: the decisive test of
// GPUDirect. Makes a CUDA context, so it belongs in a runner.
#pragma once

#include <string>
#include <string_view>

#include "kernels/core/base/probe.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::verbs {

struct ProbePair {
  std::string gpu;  // "gpu0"
  // Address of the GPU, by which its users are asked before a context is made.
  std::string pci_address;
  std::string nic;  // "mlx5_0"
};

// "gpu0@0000:18:00.0+mlx5_0". kInvalidArgument.
Result<ProbePair> parse_probe_pair(std::string_view text);

// Never on a GPU in use, or one without NVML's report: state "busy" then.
GpuDirectProbe probe_registration(const ProbePair& pair);

}  // namespace railgauge::verbs
