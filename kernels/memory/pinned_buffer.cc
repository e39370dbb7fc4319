#include "kernels/memory/pinned_buffer.h"

#include <fmt/format.h>

namespace railgauge {

// Portable, so that every context may use it; mapped, so that GPUs may address it.
Result<PinnedBuffer> PinnedBuffer::allocate(std::size_t bytes, PinnedKind kind) {
  const Cuda& cuda = loaded_cuda();
  const unsigned flags = cu::kHostAllocPortable | cu::kHostAllocDeviceMap |
                         (kind == PinnedKind::kWriteCombined ? cu::kHostAllocWriteCombined : 0U);
  const std::string act = fmt::format("pinned host memory: allocate {} bytes", bytes);
  PinnedBuffer buffer;
  void* memory = nullptr;
  RG_TRY_OK(cuda_status(cuda, cuda.mem_host_alloc(&memory, bytes, flags), act));
  buffer.memory_ = Owner(memory);
  buffer.size_ = bytes;
  RG_TRY_OK(
      cuda_status(cuda, cuda.mem_host_get_device_pointer(&buffer.device_pointer_, memory, 0), act));
  return buffer;
}

// CUDA pins its own memory in pages of its choice, so these are mapped first and registered then.
Result<PinnedBuffer> PinnedBuffer::allocate_huge(std::size_t bytes) {
  const Cuda& cuda = loaded_cuda();
  PinnedBuffer buffer;
  buffer.pages_ = RG_TRY(HostBuffer::allocate_huge(bytes));
  const std::string act = fmt::format("pinned host memory: pin {} bytes of huge pages", bytes);
  RG_TRY_OK(
      cuda_status(cuda,
                  cuda.mem_host_register(buffer.pages_.data(), buffer.pages_.size(),
                                         cu::kHostRegisterPortable | cu::kHostRegisterDeviceMap),
                  act));
  buffer.registration_ = Registration(buffer.pages_.data());
  buffer.size_ = bytes;
  RG_TRY_OK(cuda_status(
      cuda, cuda.mem_host_get_device_pointer(&buffer.device_pointer_, buffer.pages_.data(), 0),
      act));
  return buffer;
}

}  // namespace railgauge
