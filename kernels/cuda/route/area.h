// Memory that copies leave or reach: of a GPU, or of the host in one of three kinds.
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

// kPinned: page-locked and cached. kWriteCombined: page-locked and not cached by the CPU.
// kPageable: plain memory, which the driver stages.
enum class HostMemory : std::uint8_t { kPinned, kWriteCombined, kPageable };

// "pinned", "write_combined", "pageable": the words of the parameter host_memory.
HostMemory host_memory_of(std::string_view word);

// One end's memory, owned or borrowed. Movable. Not thread safe.
class Area {
 public:
  // Memory of `gpu`, which outlives the area; its context is current afterwards.
  static Result<Area> on_gpu(const gpu::Gpu& gpu, std::uint64_t bytes);
  // `place` says where the pages are: gpu/reuse.h. Pageable memory is touched here.
  static Result<Area> on_host(HostMemory memory, std::uint64_t bytes, const std::string& place);

  // The address for copies; for pageable memory the host's own address.
  [[nodiscard]] cu::DevicePtr address() const { return address_; }
  // The GPU that owns the memory; nullptr where it is the host's.
  [[nodiscard]] const gpu::Gpu* gpu() const { return gpu_; }
  // Whether a GPU's threads can address it.
  [[nodiscard]] bool reachable() const {
    return gpu_ != nullptr || memory_ != HostMemory::kPageable;
  }
  [[nodiscard]] std::span<std::byte> host() const;  // empty for a GPU's
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // "gpu0", "host".
  [[nodiscard]] std::string name() const { return gpu_ != nullptr ? gpu_->name() : "host"; }
  // The kind that the driver reports: "gpu", "pinned", or "pageable" where it does not know the
  // address. It reports write-combined memory as pinned.
  [[nodiscard]] std::string observed() const;

 private:
  const gpu::Gpu* gpu_ = nullptr;
  HostMemory memory_ = HostMemory::kPinned;
  gpu::Lent<GpuBuffer> on_gpu_;
  gpu::Lent<PinnedBuffer> pinned_;
  HostBuffer pageable_;
  cu::DevicePtr address_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace railgauge::cuda
