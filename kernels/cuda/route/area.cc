// Allocation of an end's memory, by its kind.
#include "kernels/cuda/route/area.h"

namespace railgauge::cuda {

// The parameter's declaration admits no other word.
HostMemory host_memory_of(std::string_view word) {
  if (word == "write_combined") return HostMemory::kWriteCombined;
  if (word == "huge") return HostMemory::kHuge;
  return word == "pageable" ? HostMemory::kPageable : HostMemory::kPinned;
}

// Lent memory may be larger than `bytes`; the area's size is the requested one.
Result<Area> Area::on_gpu(const gpu::Gpu& gpu, std::uint64_t bytes) {
  RG_TRY_OK(gpu.make_current());
  Area area;
  area.gpu_ = &gpu;
  area.on_gpu_ = RG_TRY(gpu::lend_gpu(gpu, bytes));
  area.address_ = area.on_gpu_->data();
  area.size_ = bytes;
  return area;
}

Area Area::borrowed(const gpu::Gpu& gpu, cu::DevicePtr address, std::uint64_t bytes) {
  Area area;
  area.gpu_ = &gpu;
  area.address_ = address;
  area.size_ = bytes;
  return area;
}

// Pageable memory is not lent: its allocation costs little. Huge pages are few, so none is kept.
Result<Area> Area::on_host(HostMemory memory, std::uint64_t bytes, const std::string& place) {
  Area area;
  area.memory_ = memory;
  area.size_ = bytes;
  if (memory == HostMemory::kPageable) {
    area.pageable_ = RG_TRY(HostBuffer::allocate(bytes));
    area.address_ = reinterpret_cast<cu::DevicePtr>(area.pageable_.data());
    return area;
  }
  if (memory == HostMemory::kHuge) {
    area.huge_ = RG_TRY(PinnedBuffer::allocate_huge(bytes));
    area.address_ = area.huge_.device_pointer();
    return area;
  }
  const auto kind =
      memory == HostMemory::kWriteCombined ? PinnedKind::kWriteCombined : PinnedKind::kPinned;
  area.pinned_ = RG_TRY(gpu::lend_pinned(bytes, kind, place));
  area.address_ = area.pinned_->device_pointer();
  return area;
}

// The bytes as the CPU addresses them.
std::span<std::byte> Area::host() const {
  if (gpu_ != nullptr) return {};
  if (memory_ == HostMemory::kHuge) return huge_.span().first(size_);
  return (memory_ == HostMemory::kPageable ? pageable_.span() : pinned_->span()).first(size_);
}

// The driver returns an error for an address that it does not know, which pageable memory is.
std::string Area::observed() const {
  unsigned type = 0;
  const cu::Return returned =
      loaded_cuda().pointer_get_attribute(&type, cu::kPointerMemoryType, address_);
  if (returned != cu::kSuccess) return "pageable";
  return type == cu::kMemoryTypeDevice ? "gpu" : "pinned";
}

}  // namespace railgauge::cuda
