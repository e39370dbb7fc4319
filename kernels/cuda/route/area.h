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

enum class HostMemory : std::uint8_t { kPinned, kWriteCombined, kPageable };

// "pinned", "write_combined", "pageable": the words of the parameter host_memory.
HostMemory host_memory_of(std::string_view word);
std::string_view word_of(HostMemory memory);

class Area {
 public:
  // `gpu` outlives the area; its context is current afterwards.
  static Result<Area> on_gpu(const gpu::Gpu& gpu, std::uint64_t bytes);
  // `place` says where the pages are: gpu/reuse.h. Pageable memory is touched here.
  static Result<Area> on_host(HostMemory memory, std::uint64_t bytes, const std::string& place);

  // As copies take it; for pageable memory the host's own address.
  [[nodiscard]] cu::DevicePtr address() const { return address_; }
  [[nodiscard]] const gpu::Gpu* gpu() const { return gpu_; }  // nullptr: the host's
  // Whether a GPU can address it by itself.
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
