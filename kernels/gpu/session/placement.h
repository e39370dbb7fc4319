// The parameter `numa`: binds the calling thread and its memory near to the task's GPUs, or far.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/core/kernel.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/session/host_pages.h"
#include "kernels/memory/numa.h"

namespace railgauge::gpu {

// A binding of the thread, undone by the destructor, and the place of its host memory.
struct Placement {
  NumaBinding binding;
  HostPlace host;  // where the binding puts host memory
};

// The placement of host memory for a task over GPUs without a common node.
enum class Apart : std::uint8_t {
  kUnbound,  // near binds nothing, far waives
  kEach      // the kernel places each one's host memory by place_beside(); the thread stays unbound
};

// Binds by the parameter `numa` and adds the fact `numa`. Near binds nothing on a machine with one
// node or with an unknown GPU node; far waives there.
Result<Placement> place(Context& context, std::span<const Gpu> gpus,
                        const std::string& sysfs = "/sys", Apart apart = Apart::kUnbound);

// Binds for `bytes` of host memory near to or far from one of several GPUs, by the parameter `numa`
// (any: binds nothing). Waives as place(), and where the node lacks the memory.
Result<Placement> place_beside(const Context& context, const Gpu& gpu, std::uint64_t bytes,
                               const std::string& sysfs = "/sys");

}  // namespace railgauge::gpu
