// The parameter `numa`: the calling thread and its memory near to the task's GPUs, or far.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/core/kernel.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/session/host_pages.h"
#include "kernels/memory/numa.h"

namespace railgauge::gpu {

// A binding of the thread, undone when it is destroyed, and the place of its host memory.
struct Placement {
  NumaBinding binding;
  HostPlace host;  // where the binding puts host memory
};

// The way to place host memory of a task over GPUs that have no node in common.
enum class Apart : std::uint8_t {
  kUnbound,  // near binds nothing, far waives
  kEach      // the kernel places each one's host memory by place_beside(); the thread stays unbound
};

// Binds by the parameter `numa` and adds the fact `numa`. Waives when far is asked and there is no
// such node, or the node is unknown. Near binds nothing where the machine has one node, or does not
// report the GPU's node.
Result<Placement> place(Context& context, std::span<const Gpu> gpus,
                        const std::string& sysfs = "/sys", Apart apart = Apart::kUnbound);

// Binds for `bytes` of host memory near to or far from one of several GPUs, by the parameter `numa`
// (any: nothing). Waives as place(), and where the node cannot give so much.
Result<Placement> place_beside(const Context& context, const Gpu& gpu, std::uint64_t bytes,
                               const std::string& sysfs = "/sys");

}  // namespace railgauge::gpu
