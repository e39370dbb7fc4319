// GPU memory that several processes map: physical memory of cuMemCreate with a handle that another
// process can import, a POSIX descriptor on one host, or a fabric handle also on another node of
// the same NVLink domain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/cuda.h"
#include "kernels/gpu/device.h"

namespace railgauge::gpu {

// kNone has no handle: memory of one process that NICs and CPUs may map, as cuMemAlloc's.
enum class HandleKind : std::uint8_t { kPosix, kFabric, kNone };

// Physical memory and one mapping of it that a GPU may read and write. Movable. Not thread safe.
// The context of its GPU is current where it is made and where it ends.
class SharedMemory {
 public:
  SharedMemory() = default;
  // Makes at least `bytes` of the GPU's memory. kUnimplemented without the driver's functions or
  // the GPU's support, kFailedPrecondition where a fabric handle lacks its channel (IMEX).
  static Result<SharedMemory> create(const Gpu& gpu, std::uint64_t bytes, HandleKind kind);
  // Maps memory that another process created, for this GPU. `bytes` is what size() returned there.
  static Result<SharedMemory> import(const Gpu& gpu, const Fd& descriptor, std::uint64_t bytes);
  static Result<SharedMemory> import(const Gpu& gpu, const std::string& fabric_handle,
                                     std::uint64_t bytes);

  // Return the handle for another process.
  [[nodiscard]] Result<Fd> export_descriptor(const Gpu& gpu) const;
  [[nodiscard]] Result<std::string> export_fabric(const Gpu& gpu) const;

  [[nodiscard]] cu::DevicePtr data() const { return mapping_.get().address; }
  [[nodiscard]] std::uint64_t size() const { return range_.get().bytes; }

 private:
  // Addresses, reserved or mapped.
  struct Range {
    cu::DevicePtr address = 0;
    std::uint64_t bytes = 0;
    bool operator==(const Range&) const = default;
  };
  struct PhysicalTraits {
    using Type = cu::MemHandle;
    static Type empty() { return 0; }
    static void release(Type handle) { static_cast<void>(loaded_cuda().mem_release(handle)); }
  };
  struct RangeTraits {
    using Type = Range;
    static Type empty() { return {}; }
    static void release(Type range) {
      static_cast<void>(loaded_cuda().mem_address_free(range.address, range.bytes));
    }
  };
  struct MappingTraits {
    using Type = Range;
    static Type empty() { return {}; }
    static void release(Type range) {
      static_cast<void>(loaded_cuda().mem_unmap(range.address, range.bytes));
    }
  };
  static Result<SharedMemory> import_handle(const Gpu& gpu, void* from, int type,
                                            std::uint64_t bytes);
  Status map(const Gpu& gpu, std::uint64_t bytes);

  // Released in reverse: unmapped first.
  Handle<PhysicalTraits> physical_;
  Handle<RangeTraits> range_;
  Handle<MappingTraits> mapping_;
};

}  // namespace railgauge::gpu
