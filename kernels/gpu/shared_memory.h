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

// Physical memory of cuMemCreate, or a multicast object. Empty releases nothing.
struct PhysicalTraits {
  using Type = cu::MemHandle;
  static Type empty() { return 0; }
  static void release(Type handle) { static_cast<void>(loaded_cuda().mem_release(handle)); }
};
using PhysicalHandle = Handle<PhysicalTraits>;

// Return a handle of `memory` for another process.
[[nodiscard]] Result<Fd> export_as_descriptor(const Gpu& gpu, const PhysicalHandle& memory);
[[nodiscard]] Result<std::string> export_as_fabric(const Gpu& gpu, const PhysicalHandle& memory);
// Take another process's memory. kInternal for a fabric handle of a wrong length.
[[nodiscard]] Result<PhysicalHandle> import_memory(const Gpu& gpu, const Fd& descriptor);
[[nodiscard]] Result<PhysicalHandle> import_memory(const Gpu& gpu,
                                                   const std::string& fabric_handle);
// kUnimplemented where the GPU has no such handles, or the driver no such memory.
[[nodiscard]] Status check_handles(const Gpu& gpu, HandleKind kind);
// The driver's number of a kind.
[[nodiscard]] int type_of(HandleKind kind);

// Addresses at which a GPU reads and writes physical memory. Movable. Not thread safe.
class Mapping {
 public:
  Mapping() = default;
  static Result<Mapping> of(const Gpu& gpu, const PhysicalHandle& memory, std::uint64_t bytes);
  [[nodiscard]] cu::DevicePtr data() const { return mapped_.get().address; }
  [[nodiscard]] std::uint64_t size() const { return reserved_.get().bytes; }

 private:
  // Addresses, reserved or mapped.
  struct Range {
    cu::DevicePtr address = 0;
    std::uint64_t bytes = 0;
    bool operator==(const Range&) const = default;
  };
  struct ReservedTraits {
    using Type = Range;
    static Type empty() { return {}; }
    static void release(Type range) {
      static_cast<void>(loaded_cuda().mem_address_free(range.address, range.bytes));
    }
  };
  struct MappedTraits {
    using Type = Range;
    static Type empty() { return {}; }
    static void release(Type range) {
      static_cast<void>(loaded_cuda().mem_unmap(range.address, range.bytes));
    }
  };
  // Released in reverse: unmapped first.
  Handle<ReservedTraits> reserved_;
  Handle<MappedTraits> mapped_;
};

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
  [[nodiscard]] Result<Fd> export_descriptor(const Gpu& gpu) const {
    return export_as_descriptor(gpu, physical_);
  }
  [[nodiscard]] Result<std::string> export_fabric(const Gpu& gpu) const {
    return export_as_fabric(gpu, physical_);
  }

  [[nodiscard]] cu::DevicePtr data() const { return mapping_.data(); }
  [[nodiscard]] std::uint64_t size() const { return mapping_.size(); }
  [[nodiscard]] const PhysicalHandle& physical() const { return physical_; }

 private:
  static Result<SharedMemory> mapped(const Gpu& gpu, Result<PhysicalHandle> memory,
                                     std::uint64_t bytes);

  PhysicalHandle physical_;
  Mapping mapping_;
};

}  // namespace railgauge::gpu
