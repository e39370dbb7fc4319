// The rank of a memory type, and the reasons when none fits.
#include "kernels/bar/backend/vulkan_memory.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "kernels/core/text/units.h"

namespace railgauge::bar {

Result<std::uint32_t> pick_memory_type(const vk::MemoryProperties& memory, std::uint32_t type_bits,
                                       std::uint64_t bytes) {
  // Both bits together are the large BAR: memory of the GPU that the CPU addresses.
  constexpr std::uint32_t kBoth = vk::kMemoryDeviceLocal | vk::kMemoryHostVisible;
  const auto count = std::min<std::uint32_t>(memory.type_count,
                                             static_cast<std::uint32_t>(std::size(memory.types)));
  std::optional<std::uint32_t> best;
  int best_rank = -1;
  std::uint64_t largest_heap = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const vk::MemoryType& type = memory.types[i];
    if ((type_bits >> i & 1U) == 0 || (type.flags & kBoth) != kBoth) continue;
    if (type.heap_index >= std::size(memory.heaps)) continue;
    const std::uint64_t heap = memory.heaps[type.heap_index].size;
    largest_heap = std::max(largest_heap, heap);
    if (heap < bytes) continue;
    // Coherent memory needs no flush after a store. Memory that the CPU does not cache is written
    // in whole lines.
    const int rank = ((type.flags & vk::kMemoryHostCoherent) != 0 ? 2 : 0) +
                     ((type.flags & vk::kMemoryHostCached) == 0 ? 1 : 0);
    if (rank <= best_rank) continue;
    best = i;
    best_rank = rank;
  }
  if (best) return *best;
  if (largest_heap == 0)
    return fail(Code::kFailedPrecondition,
                fmt::format("vulkan: none of {} memory types is both on the GPU and visible to the "
                            "CPU: no large BAR; turn on resizable BAR (above 4G decoding) in the "
                            "firmware",
                            count));
  return fail(Code::kFailedPrecondition,
              fmt::format("vulkan: the CPU sees {} of the GPU's memory, {} are asked for: no large "
                          "BAR; turn on resizable BAR in the firmware or ask for smaller sizes",
                          canonical_bytes(largest_heap), canonical_bytes(bytes)));
}

}  // namespace railgauge::bar
