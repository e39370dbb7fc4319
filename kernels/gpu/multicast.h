// Memory of several GPUs that one store reaches: a multicast object of the NVLink switch. Each GPU
// of the team binds memory of its own to the object. A store to the object's addresses places the
// bytes in the memory of all of them.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/shared_memory.h"

namespace railgauge::gpu {

// One GPU's part of a team. One member creates the object and the others import it; then all
// join(), then all bind(), then all map(). Movable. Not thread safe. The GPU outlives it, and its
// context is current in each call and where it ends.
class Multicast {
 public:
  Multicast() = default;
  // Reports why the GPU cannot take part: kUnimplemented without the driver's functions, the
  // switch's support or such handles.
  [[nodiscard]] static Status check(const Gpu& gpu, HandleKind kind);
  // Makes an object for `members` GPUs, of at least `bytes`. kFailedPrecondition where a fabric
  // handle lacks its channel (IMEX), or the fabric manager does not run.
  static Result<Multicast> create(const Gpu& gpu, std::uint64_t bytes, std::uint32_t members,
                                  HandleKind kind);
  // `bytes` is what size() returned in the process that created it.
  static Result<Multicast> import(const Gpu& gpu, const Fd& descriptor, std::uint64_t bytes,
                                  HandleKind kind);
  static Result<Multicast> import(const Gpu& gpu, const std::string& fabric_handle,
                                  std::uint64_t bytes, HandleKind kind);
  [[nodiscard]] Result<Fd> export_descriptor() const {
    return export_as_descriptor(*gpu_, object_);
  }
  [[nodiscard]] Result<std::string> export_fabric() const {
    return export_as_fabric(*gpu_, object_);
  }

  // Adds the GPU to the team.
  [[nodiscard]] Status join();
  // Makes the GPU's own memory and binds it.
  [[nodiscard]] Status bind();
  [[nodiscard]] Status map();

  // The address whose stores reach all; loads from it are not defined.
  [[nodiscard]] cu::DevicePtr all() const { return mapping_.data(); }
  // The GPU's own memory.
  [[nodiscard]] cu::DevicePtr own() const { return own_.data(); }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  // The memory of one GPU in an object.
  struct Bound {
    cu::MemHandle object = 0;
    cu::Device device = 0;
    std::uint64_t bytes = 0;
    bool operator==(const Bound&) const = default;
  };
  struct BoundTraits {
    using Type = Bound;
    static Type empty() { return {}; }
    static void release(Type bound) {
      static_cast<void>(loaded_cuda().multicast_unbind(bound.object, bound.device, 0, bound.bytes));
    }
  };
  static Result<Multicast> imported(const Gpu& gpu, Result<PhysicalHandle> object,
                                    std::uint64_t bytes, HandleKind kind);

  const Gpu* gpu_ = nullptr;
  HandleKind kind_ = HandleKind::kPosix;
  std::uint64_t size_ = 0;
  // Released in reverse: unmapped, then unbound.
  PhysicalHandle object_;
  SharedMemory own_;
  Handle<BoundTraits> bound_;
  Mapping mapping_;
};

}  // namespace railgauge::gpu
