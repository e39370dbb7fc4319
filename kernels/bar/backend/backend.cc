// Decisions that all backends share: their order, the words for caching, and the memory that none
// may map.
#include "kernels/bar/backend/backend.h"

#include <fmt/format.h>

namespace railgauge::bar {

// Returns the words of the fact path_caching.
std::string_view caching_in_words(Caching caching) {
  switch (caching) {
    case Caching::kWriteCombined:
      return "write-combining";
    case Caching::kUncached:
      return "uncached";
    case Caching::kCached:
      return "cached";
    default:
      return "unknown";
  }
}

Result<OwnCopies> Window::own_copies() {
  return fail(Code::kFailedPrecondition,
              "no library copies through this path; GDRCopy's does through gdrdrv");
}

// The order is that of preference: gdrdrv maps any allocation, dma-buf needs a recent driver,
// coherent machines need no mapping, and Vulkan maps only memory of its own.
std::vector<std::unique_ptr<Backend>> make_backends() {
  std::vector<std::unique_ptr<Backend>> all;
  all.push_back(make_gdrdrv_backend());
  all.push_back(make_dmabuf_backend());
  all.push_back(make_coherent_backend());
  all.push_back(make_vulkan_backend());
  return all;
}

// cuPointerGetAttribute reports managed memory by CU_POINTER_ATTRIBUTE_IS_MANAGED. The answer is 0
// for memory of cuMemAlloc.
Status check_fixed_memory(const gpu::Gpu& gpu, cu::DevicePtr memory) {
  unsigned managed = 0;
  RG_TRY_OK(gpu_status(gpu,
                       loaded_cuda().pointer_get_attribute(&managed, cu::kPointerIsManaged, memory),
                       "ask whether the memory is managed"));
  if (managed == 0) return {};
  return fail(
      Code::kFailedPrecondition,
      fmt::format("{}: map managed memory for the CPU: it moves between host and GPU, so no "
                  "page of it has a fixed place behind the BAR; use memory of cuMemAlloc",
                  gpu.name()));
}

}  // namespace railgauge::bar
