// GPUs as sysfs and the driver's folder in /proc show them, without the driver library. A value
// without a file stays empty.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "controller/api/agent.pb.h"

namespace railgauge::agent {

inline constexpr std::size_t kMaxGpus = 64;

// `sysfs` and `proc` are /sys and /proc. At most kMaxGpus, by number. gpuN counts as in CUDA: by
// PCI address among the GPUs that the driver shows here. GPUs that it does not show follow, with a
// state that gives the reason.
std::vector<api::Gpu> list_gpus(const std::string& sysfs, const std::string& proc);

}  // namespace railgauge::agent
