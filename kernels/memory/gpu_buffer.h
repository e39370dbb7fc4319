// Memory of the GPU whose context is current.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/cuda.h"

namespace railgauge {

// Owns one allocation; movable. Freed in the context that is current at its destruction.
class GpuBuffer {
 public:
  // The size of the GPU's pages: pinned, exported or mapped ranges begin and end at a page.
  static constexpr std::size_t kPageBytes = 64U << 10U;

  GpuBuffer() = default;
  // Allocates at least `bytes` in whole GPU pages, page aligned and not initialised. `gpu` ("gpu0")
  // appears in messages. kFailedPrecondition, with both figures, when less is free.
  static Result<GpuBuffer> allocate(std::string_view gpu, std::size_t bytes);

  [[nodiscard]] cu::DevicePtr data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  explicit operator bool() const { return size_ != 0; }

 private:
  using Owner = Handle<ReleasedByTable<cu::DevicePtr, loaded_cuda, &Cuda::mem_free>>;
  Owner memory_;  // as allocated
  cu::DevicePtr data_ = 0;
  std::size_t size_ = 0;
};

}  // namespace railgauge
