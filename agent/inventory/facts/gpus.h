// GPUs as sysfs and the driver's folder in /proc show them, without the driver's library. A value
// without a file stays empty.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "controller/api/agent.pb.h"

namespace railgauge::agent {

inline constexpr std::size_t kMaxGpus = 64;

// `sysfs` and `proc` stand for /sys and /proc. At most kMaxGpus, by number. gpuN counts as CUDA
// does, by PCI address among the GPUs that the driver shows here; those that it does not show come
// after them, in a state that says why.
std::vector<api::Gpu> list_gpus(const std::string& sysfs, const std::string& proc);

}  // namespace railgauge::agent
