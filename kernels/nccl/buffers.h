// One rank's GPU memory for all sizes: allocated once, by CUDA or, where it shall be registered
// with NCCL, by NCCL, which can then map it into other ranks.
#pragma once

#include <cstdint>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/nccl.h"
#include "kernels/gpu/device.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/nccl/communicator/communicator.h"

namespace railgauge::nccl {

// A buffer of the current context's GPU. A registered one must end before its communicator does.
class Buffer {
 public:
  Buffer() = default;
  // Errors as GpuBuffer::allocate.
  static Result<Buffer> plain(const gpu::Gpu& gpu, std::uint64_t bytes);
  // kUnimplemented where this NCCL has no registration (before 2.19).
  static Result<Buffer> registered(const gpu::Gpu& gpu, const Communicator& comm,
                                   std::uint64_t bytes);

  [[nodiscard]] cu::DevicePtr data() const { return data_; }
  // Its communicator ends next.
  void deregister() { registration_.reset(); }

 private:
  struct MemoryTraits {
    using Type = void*;
    static Type empty() { return nullptr; }
    static void release(Type memory) { static_cast<void>(loaded_nccl().mem_free(memory)); }
  };
  struct Registration {
    nc::Comm comm = nullptr;
    void* handle = nullptr;
    bool operator==(const Registration&) const = default;
  };
  struct RegistrationTraits {
    using Type = Registration;
    static Type empty() { return {}; }
    static void release(Type made) {
      static_cast<void>(loaded_nccl().comm_deregister(made.comm, made.handle));
    }
  };

  GpuBuffer plain_;
  Handle<MemoryTraits> memory_;
  Handle<RegistrationTraits> registration_;  // ends before the memory does: declared after it
  cu::DevicePtr data_ = 0;
};

}  // namespace railgauge::nccl
