// The memory of a link's two areas: the host's or a GPU's. The CPU accesses host memory directly,
// GPU memory only by the driver's copies and kernels and never in a timed loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/core/kernel.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/pattern.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::verbs {

enum class MemoryKind : std::uint8_t {
  kHost,
  // The NIC reads and writes the GPU's memory directly.
  kCuda,
  // GPU memory, copied through pinned host memory that the NIC reads and writes.
  kStaged,
};
MemoryKind memory_kind_of(std::string_view words);  // CHECKs that it is one of the parameter's
std::string_view memory_words(MemoryKind kind);     // "host", "cuda", "staged"

// Opens the GPU of the parameter `gpu`: "0", "gpu0", or a UUID ("GPU-16b0...") or its beginning, if
// only one GPU has it. Leaves its context current.
Result<gpu::Gpu> open_gpu(const std::string& wanted);
// Reports gpu, gpu_model, gpu_uuid, gpu_pci_address, cuda_driver.
void report_gpu(const gpu::Gpu& gpu, Reporter& reporter);

// Owns the memory of both areas; movable.
class Memory {
 public:
  struct Form {
    // kHost or kCuda: a staging consists of two memories.
    MemoryKind kind = MemoryKind::kHost;
    // Host memory in pages of 2 MiB.
    bool huge_pages = false;
    // The GPU, as in the parameter gpu.
    std::string gpu;
  };
  // Allocates zeroed, page-aligned memory. Waives when the machine lacks the memory.
  static Result<Memory> allocate(const Form& form, std::size_t bytes);
  Memory() = default;

  [[nodiscard]] bool is_host() const { return on_gpu_ == nullptr; }
  [[nodiscard]] std::size_t size() const {
    return is_host() ? host_.size() : on_gpu_->buffer.size();
  }
  // Returns the memory's address for the NIC. The CPU may access the bytes only in host memory.
  [[nodiscard]] std::span<std::byte> span() const;
  // For GPU memory only.
  [[nodiscard]] const gpu::Gpu& gpu() const { return on_gpu_->gpu; }
  [[nodiscard]] const GpuBuffer& gpu_buffer() const { return on_gpu_->buffer; }
  [[nodiscard]] MemoryKind kind() const {
    return is_host() ? MemoryKind::kHost : MemoryKind::kCuda;
  }
  // Reports whether a fake driver provides the memory.
  [[nodiscard]] bool is_synthetic() const { return !is_host() && loaded_cuda().synthetic; }

  // Writes the pattern of `seed` into `bytes` from `offset` on.
  Status fill(std::size_t offset, std::size_t bytes, std::uint64_t seed);
  // Repeats the `period` bytes from `offset` on until `bytes` are written, them included.
  Status repeat(std::size_t offset, std::size_t period, std::size_t bytes);
  // Writes zeros.
  Status clear(std::size_t offset, std::size_t bytes);
  // Describes the first difference from the pattern: "byte 32 is 0x00, expected 0x7f"; absent when
  // none. Offsets count from `shown`.
  Result<std::optional<std::string>> difference(std::size_t offset, std::size_t bytes,
                                                std::uint64_t seed, std::size_t shown);
  // Copies bytes of the memory into `out`, which is on the host.
  Status read(std::size_t offset, std::span<std::byte> out) const;

 private:
  // The GPU's part, with its context.
  struct OnGpu {
    gpu::Gpu gpu;
    GpuBuffer buffer;
    std::optional<gpu::Pattern> pattern;
  };
  // Makes the GPU's context current on the calling thread; does nothing for host memory.
  [[nodiscard]] Status make_current() const;
  static Result<Memory> allocate_on_gpu(const std::string& wanted, std::size_t bytes);

  HostBuffer host_;
  // At a fixed address: the pattern points to the GPU.
  std::unique_ptr<OnGpu> on_gpu_;
};

}  // namespace railgauge::verbs
