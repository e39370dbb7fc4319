// Host memory that the driver pinned: copy engines read and write it at full speed, and every GPU
// can address it. The allocating context must be current at allocation; at release any context may
// be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/cuda.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge {

enum class PinnedKind : std::uint8_t {
  kPinned,
  // Not cached: the CPU writes it in bursts and reads it very slowly.
  kWriteCombined,
};

// Owns one allocation of the CUDA driver; movable.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  // Allocates `bytes`, pinned and portable, not initialised. kFailedPrecondition when the driver
  // cannot pin that much.
  static Result<PinnedBuffer> allocate(std::size_t bytes, PinnedKind kind);
  // Allocates huge pages of 2 MiB and pins them, zeroed. kFailedPrecondition without enough free
  // ones.
  static Result<PinnedBuffer> allocate_huge(std::size_t bytes);

  [[nodiscard]] std::byte* data() const {
    return pages_.size() > 0 ? pages_.data() : static_cast<std::byte*>(memory_.get());
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> span() const { return {data(), size_}; }
  // Returns the address that GPUs use for this memory.
  [[nodiscard]] cu::DevicePtr device_pointer() const { return device_pointer_; }

 private:
  using Owner = Handle<ReleasedByTable<void*, loaded_cuda, &Cuda::mem_free_host>>;
  using Registration = Handle<ReleasedByTable<void*, loaded_cuda, &Cuda::mem_host_unregister>>;
  Owner memory_;
  HostBuffer pages_;           // huge ones, in place of memory_
  Registration registration_;  // of pages_, released before them
  std::size_t size_ = 0;
  cu::DevicePtr device_pointer_ = 0;
};

}  // namespace railgauge
