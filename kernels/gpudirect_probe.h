// The runner's view of the verbs layer for the agent, which may not include it itself.
#pragma once

#include <string_view>

#include "kernels/core/base/probe.pb.h"

namespace railgauge {

// "gpu0@0000:18:00.0+mlx5_0": whether that NIC registers memory of that GPU, where it is idle.
GpuDirectProbe probe_gpudirect(std::string_view pair);

// "mlx5_0:1": what the verbs say of that port.
PortProbe probe_port(std::string_view endpoint);

}  // namespace railgauge
