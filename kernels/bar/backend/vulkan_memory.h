// The Vulkan backend's own decisions. Pure.
#pragma once

#include <cstdint>

#include "kernels/core/base/result.h"
#include "kernels/dl/vulkan.h"

namespace railgauge::bar {

// The memory type to allocate `bytes` from: on the GPU and visible to the CPU, among those that
// `type_bits` allows; coherent ones first, then those that the CPU does not cache, then the order
// of the driver, which is its preference. kFailedPrecondition when there is none, or when its heap
// is smaller: no large BAR.
Result<std::uint32_t> pick_memory_type(const vk::MemoryProperties& memory, std::uint32_t type_bits,
                                       std::uint64_t bytes);

}  // namespace railgauge::bar
