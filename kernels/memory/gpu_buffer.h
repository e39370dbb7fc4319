// Memory of the GPU whose context is current.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/cuda.h"

namespace railgauge {

// Owns one allocation; movable. Freed in whatever context is current at its end.
class GpuBuffer {
 public:
  // The size of the GPU's pages: what is pinned, exported or mapped begins and ends on one.
  static constexpr std::size_t kPageBytes = 64U << 10U;

  GpuBuffer() = default;
  // At least `bytes`, whole GPU pages, beginning on one; not initialised. `gpu` ("gpu0") appears in
  // messages. kFailedPrecondition when less is free, with both figures.
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
