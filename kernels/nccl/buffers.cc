#include "kernels/nccl/buffers.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/text/units.h"

namespace railgauge::nccl {

Result<Buffer> Buffer::plain(const gpu::Gpu& gpu, std::uint64_t bytes) {
  Buffer buffer;
  buffer.plain_ = RG_TRY(GpuBuffer::allocate(gpu.name(), std::max<std::uint64_t>(bytes, 1)));
  buffer.data_ = buffer.plain_.data();
  return buffer;
}

Result<Buffer> Buffer::registered(const gpu::Gpu& gpu, const Communicator& comm,
                                  std::uint64_t bytes) {
  const Nccl& nccl = loaded_nccl();
  if (nccl.mem_alloc == nullptr || nccl.mem_free == nullptr || nccl.comm_register == nullptr ||
      nccl.comm_deregister == nullptr)
    return fail(Code::kUnimplemented,
                fmt::format("{}: register memory: NCCL {} cannot; 2.19 and later can", gpu.name(),
                            nccl.version));
  const std::uint64_t size = std::max<std::uint64_t>(bytes, 1);
  const std::uint64_t free = RG_TRY(gpu.free_bytes());
  if (free < size)
    return fail(Code::kFailedPrecondition, fmt::format("{}: allocate {}: {} of its memory are free",
                                                       gpu.name(), canonical_bytes(size), free));
  Buffer buffer;
  void* raw = nullptr;
  RG_TRY_OK(nccl_status(nccl, nccl.mem_alloc(&raw, size),
                        fmt::format("{}: allocate {} by NCCL", gpu.name(), canonical_bytes(size))));
  buffer.memory_ = Handle<MemoryTraits>(raw);
  buffer.data_ = reinterpret_cast<cu::DevicePtr>(raw);
  void* handle = nullptr;
  RG_TRY_OK(nccl_status(nccl, nccl.comm_register(comm.get(), raw, size, &handle),
                        fmt::format("{}: register {}", gpu.name(), canonical_bytes(size)),
                        comm.get()));
  // NCCL gives no handle where it has nothing to do with the memory.
  if (handle != nullptr) buffer.registration_ = Handle<RegistrationTraits>({comm.get(), handle});
  return buffer;
}

}  // namespace railgauge::nccl
