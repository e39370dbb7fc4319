// Keeps large buffers and contexts from one kernel to the next in one process, but only while a
// KeepWarm lives: pinning 512 MiB or making a context takes longer than many measurements.
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
// next borrower. Its destructor releases all of them: destroy it after the last kernel. At most one
// at a time (CHECKed). Use on the thread that runs the kernels.
class KeepWarm {
 public:
  KeepWarm();
  ~KeepWarm();
  KeepWarm(const KeepWarm&) = delete;
  KeepWarm& operator=(const KeepWarm&) = delete;
};

// Reports whether a KeepWarm lives. NVML's utilisation of the last second may then be this
// process's own.
bool warm();

// Keeps the GPU's context, and NVML initialised, until the KeepWarm ends; does nothing without one.
// A failure only costs time.
void keep_context(const Gpu& gpu);

// Keeps `thing` until the KeepWarm ends; does nothing without one. For objects that are slow to
// create, or whose every creation leaves something in the driver (an instance of Vulkan).
void keep_while_warm(std::shared_ptr<void> thing);

// A buffer that its destructor returns: to the stock while a KeepWarm lives, else to the driver.
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

  // Empty after a move. `shelf_` is the buffer's category in the stock.
  Buffer buffer_;
  std::string shelf_;
};

// Returns a buffer of at least `bytes` with unknown content. `place` names the place of its pages
// ("near:0"): only a buffer of the same place is reused. Errors as PinnedBuffer::allocate; before
// an error is returned, the stock is emptied and the allocation retried.
Result<Lent<PinnedBuffer>> lend_pinned(std::size_t bytes, PinnedKind kind,
                                       const std::string& place);
// Returns a buffer in memory of `gpu`, whose context is current. Errors as GpuBuffer::allocate.
Result<Lent<GpuBuffer>> lend_gpu(const Gpu& gpu, std::size_t bytes);

}  // namespace railgauge::gpu
