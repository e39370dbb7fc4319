#include "kernels/memory/gpu_buffer.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// Up to whole GPU pages.
constexpr std::size_t round_up(std::size_t bytes) {
  return (bytes + GpuBuffer::kPageBytes - 1) / GpuBuffer::kPageBytes * GpuBuffer::kPageBytes;
}

}  // namespace

// Asks for the free memory first: cuMemAlloc only reports that it lacks some.
Result<GpuBuffer> GpuBuffer::allocate(std::string_view gpu, std::size_t bytes) {
  const Cuda& cuda = loaded_cuda();
  std::size_t free = 0;
  std::size_t total = 0;
  RG_TRY_OK(cuda_status(cuda, cuda.mem_get_info(&free, &total),
                        fmt::format("{}: ask its free memory", gpu)));
  GpuBuffer buffer;
  buffer.size_ = round_up(std::max<std::size_t>(bytes, 1));
  if (buffer.size_ > free)
    return fail(Code::kFailedPrecondition,
                fmt::format("{}: allocate {}: {} of its {} are free; end what else uses it or ask "
                            "for smaller sizes",
                            gpu, canonical_bytes(buffer.size_), canonical_bytes(free),
                            canonical_bytes(total)));
  // cuMemAlloc promises 256 bytes of alignment only: a page more leaves room to begin on one.
  cu::DevicePtr memory = 0;
  RG_TRY_OK(cuda_status(cuda, cuda.mem_alloc(&memory, buffer.size_ + kPageBytes),
                        fmt::format("{}: allocate {}", gpu, canonical_bytes(buffer.size_))));
  buffer.memory_ = Owner(memory);
  buffer.data_ = (memory + kPageBytes - 1) / kPageBytes * kPageBytes;
  return buffer;
}

}  // namespace railgauge
