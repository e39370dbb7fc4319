// Large buffers and contexts that stay from one kernel to the next in one process: pinning 512 MiB
// or making a context takes longer than many measurements. Nothing stays unless a KeepWarm lives.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/memory/pinned_buffer.h"

namespace railgauge::gpu {

// While one lives, contexts registered by keep_context() stay, and released buffers wait for the
// next borrower. Its end releases all of it: destroy it after the last kernel. At most one at a
// time (CHECKed). For one thread, the one that runs the kernels.
class KeepWarm {
 public:
  KeepWarm();
  ~KeepWarm();
  KeepWarm(const KeepWarm&) = delete;
  KeepWarm& operator=(const KeepWarm&) = delete;
};

// Whether a KeepWarm lives. NVML's view of the last second may then be this process's own work.
bool warm();

// Holds the GPU's context, and NVML initialised, until the KeepWarm ends; does nothing without one.
// A failure only costs time.
void keep_context(const Gpu& gpu);

// Holds `thing` until the KeepWarm ends; does nothing without one. For objects that cost time at
// each creation, or that leave something in the driver each time (an instance of Vulkan).
void keep_while_warm(std::shared_ptr<void> thing);

// A buffer that goes back when its borrower ends: to the stock where a KeepWarm lives, else it is
// freed.
template <class Buffer>
class Lent {
 public:
  Lent() = default;
  Lent(Buffer buffer, std::string shelf) : buffer_(std::move(buffer)), shelf_(std::move(shelf)) {}
  Lent(Lent&& other) noexcept
      : buffer_(std::exchange(other.buffer_, Buffer{})), shelf_(std::exchange(other.shelf_, {})) {}
  Lent& operator=(Lent&& other) noexcept {
    if (this == &other) return *this;
    give_back();
    buffer_ = std::exchange(other.buffer_, Buffer{});
    shelf_ = std::exchange(other.shelf_, {});
    return *this;
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() { give_back(); }

  // The buffer; its size may exceed the request.
  const Buffer* operator->() const { return &buffer_; }
  const Buffer& operator*() const { return buffer_; }

 private:
  void give_back();

  // Empty after a move. `shelf_` is the sort of the buffer in the stock.
  Buffer buffer_;
  std::string shelf_;
};

// At least `bytes`; the content is unknown. `place` names where its pages are ("near:0"): only a
// buffer of the same place is taken again. Errors as PinnedBuffer::allocate; before one is
// returned, the stock is emptied and the allocation tried again.
Result<Lent<PinnedBuffer>> lend_pinned(std::size_t bytes, PinnedKind kind,
                                       const std::string& place);
// The same in memory of `gpu`, whose context is current; errors as GpuBuffer::allocate.
Result<Lent<GpuBuffer>> lend_gpu(const Gpu& gpu, std::size_t bytes);

}  // namespace railgauge::gpu
