// Tests whether a NIC can register a GPU's memory, with a small buffer: the decisive test of
// GPUDirect. Makes a CUDA context, so it belongs in a runner.
#pragma once

#include <string>
#include <string_view>

#include "kernels/core/base/probe.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::verbs {

struct ProbePair {
  std::string gpu;  // "gpu0"
  // The GPU's address, used to query its users before a context is made.
  std::string pci_address;
  std::string nic;  // "mlx5_0"
};

// Parses "gpu0@0000:18:00.0+mlx5_0". kInvalidArgument.
Result<ProbePair> parse_probe_pair(std::string_view text);

// Probes one pair. Never touches a GPU in use, or one without NVML's report: state "busy".
GpuDirectProbe probe_registration(const ProbePair& pair);

}  // namespace railgauge::verbs
