// The parameter `numa`: the calling thread and its memory near to the task's GPUs, or far.
#pragma once

#include <span>
#include <string>

#include "kernels/core/kernel.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/host_pages.h"
#include "kernels/memory/numa.h"

namespace railgauge::gpu {

struct Placement {
  NumaBinding binding;
  HostPlace host;  // where the binding puts host memory
};

// Binds by the parameter `numa` and tells the fact `numa`. Waives when far is asked and there is no
// such node, or no telling which. Near binds nothing where the machine has one node, or does not
// say where its GPU is.
Result<Placement> place(Context& context, std::span<const Gpu> gpus,
                        const std::string& sysfs = "/sys");

}  // namespace railgauge::gpu
