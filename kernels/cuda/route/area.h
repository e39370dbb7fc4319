// Source or target memory of copies: a GPU's, or one of three kinds of host memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/reuse.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::cuda {

// kPinned: page-locked and cached. kWriteCombined: page-locked, not cached by the CPU. kPageable:
// plain memory, which the driver stages. kHuge: huge pages of 2 MiB, page-locked and cached.
enum class HostMemory : std::uint8_t { kPinned, kWriteCombined, kPageable, kHuge };

// Reads a word of the parameter host_memory: "pinned", "write_combined", "pageable", "huge".
HostMemory host_memory_of(std::string_view word);

// One end's memory, owned or lent. Movable. Not thread safe.
class Area {
 public:
  // Allocates memory of `gpu`, which outlives the area, and leaves its context current.
  static Result<Area> on_gpu(const gpu::Gpu& gpu, std::uint64_t bytes);
  // Allocates host memory. `place` names the place of its pages (gpu/reuse.h). Pageable memory is
  // touched here.
  static Result<Area> on_host(HostMemory memory, std::uint64_t bytes, const std::string& place);

  // Names memory that another owner keeps for as long as the area lives: `gpu` reaches it.
  static Area borrowed(const gpu::Gpu& gpu, cu::DevicePtr address, std::uint64_t bytes);

  // Returns the address for copies; for pageable memory the host's own address.
  [[nodiscard]] cu::DevicePtr address() const { return address_; }
  // Returns the GPU that owns the memory; nullptr for host memory.
  [[nodiscard]] const gpu::Gpu* gpu() const { return gpu_; }
  // Reports whether a GPU's threads can address the memory.
  [[nodiscard]] bool reachable() const {
    return gpu_ != nullptr || memory_ != HostMemory::kPageable;
  }
  [[nodiscard]] std::span<std::byte> host() const;  // empty for a GPU's
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Returns "gpu0" or "host".
  [[nodiscard]] std::string name() const { return gpu_ != nullptr ? gpu_->name() : "host"; }
  // Returns the kind that the driver reports: "gpu", "pinned" (also for write-combined memory), or
  // "pageable" when the driver does not know the address.
  [[nodiscard]] std::string observed() const;

 private:
  const gpu::Gpu* gpu_ = nullptr;
  HostMemory memory_ = HostMemory::kPinned;
  gpu::Lent<GpuBuffer> on_gpu_;
  gpu::Lent<PinnedBuffer> pinned_;
  HostBuffer pageable_;
  PinnedBuffer huge_;
  cu::DevicePtr address_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace railgauge::cuda
