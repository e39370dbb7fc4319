// Decisions of the Vulkan backend. Pure.
#pragma once

#include <cstdint>

#include "kernels/core/base/result.h"
#include "kernels/dl/vulkan.h"

namespace railgauge::bar {

// Returns the memory type for an allocation of `bytes`: on the GPU, visible to the CPU and allowed
// by `type_bits`; coherent types first, then types that the CPU does not cache, then by the
// driver's order, which is its preference. kFailedPrecondition without such a type, or when its
// heap is smaller: no large BAR.
Result<std::uint32_t> pick_memory_type(const vk::MemoryProperties& memory, std::uint32_t type_bits,
                                       std::uint64_t bytes);

}  // namespace railgauge::bar
