// Memory of a rank: allocation, and copies between the GPU and the host's view of it.
#include "kernels/mpi/operation.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/text/units.h"

namespace railgauge::mpi {

// Any other word is host memory; the parameter's choices exclude others.
Memory memory_of(std::string_view word) {
  if (word == "device") return Memory::kDevice;
  return word == "managed" ? Memory::kManaged : Memory::kHost;
}

// Always allocates a host buffer: the memory itself, the staging buffer, or the view in which
// contents are filled and compared.
Result<Area> Area::allocate(Memory memory, bool staged, std::string_view gpu, std::size_t bytes) {
  // One byte at least, so that the address of an empty message is valid.
  const std::size_t room = std::max<std::size_t>(bytes, 1);
  Area area;
  area.host_ = RG_TRY(HostBuffer::allocate(room));
  area.data_ = area.host_.data();
  area.bytes_ = bytes;
  if (memory == Memory::kHost) return area;
  if (memory == Memory::kManaged) {
    cu::DevicePtr managed = 0;
    RG_TRY_OK(cuda_status(
        loaded_cuda(), loaded_cuda().mem_alloc_managed(&managed, room, cu::kAttachGlobal),
        fmt::format("{}: allocate {} of managed memory", gpu, canonical_bytes(room))));
    area.managed_ = Handle<ManagedTraits>(managed);
    area.gpu_ = managed;
  } else {
    area.device_ = RG_TRY(GpuBuffer::allocate(gpu, room));
    area.gpu_ = area.device_.data();
  }
  area.set_staged(staged);
  return area;
}

void Area::set_staged(bool staged) {
  if (gpu_ == 0) return;
  staged_ = staged;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers in CUDA's interface
  data_ = staged ? host_.data() : reinterpret_cast<std::byte*>(gpu_);
}

// Pinned, since no MPI copies slower than it must. The least time counts: it bounds what any copy
// could have taken.
double Area::least_copy_ns(std::size_t bytes, const TickClock& clock) {
  constexpr int kCopies = 8;
  if (device_.data() == 0 || bytes == 0 || bytes > host_.size()) return 0;
  if (loaded_cuda().mem_host_register(host_.data(), host_.size(), 0) != cu::kSuccess) return 0;
  const Handle<ReleasedByTable<void*, loaded_cuda, &Cuda::mem_host_unregister>> pinned(
      host_.data());
  double least_ns = 0;
  for (int i = 0; i < kCopies; ++i) {
    const std::uint64_t began = clock.ticks();
    pull(0, bytes);
    const double ns = clock.to_ns(clock.ticks() - began);
    least_ns = i == 0 ? ns : std::min(least_ns, ns);
  }
  return status_ ? least_ns : 0;
}

// The first error is kept and later copies are skipped, because push() and pull() run in timed
// loops, which have no place for a Status.
void Area::push(std::size_t offset, std::size_t bytes) {
  if (gpu_ == 0 || bytes == 0 || !status_) return;
  status_ =
      cuda_status(loaded_cuda(),
                  loaded_cuda().memcpy_htod(gpu_ + place_ + offset, view().data() + offset, bytes),
                  fmt::format("copy {} to the GPU", canonical_bytes(bytes)));
}

void Area::pull(std::size_t offset, std::size_t bytes) {
  if (gpu_ == 0 || bytes == 0 || !status_) return;
  status_ =
      cuda_status(loaded_cuda(),
                  loaded_cuda().memcpy_dtoh(view().data() + offset, gpu_ + place_ + offset, bytes),
                  fmt::format("copy {} from the GPU", canonical_bytes(bytes)));
}

// Asks the driver instead of repeating the parameter, so that a result has the actual place of its
// messages.
std::string Area::observed() const {
  if (gpu_ == 0) return "host";
  int managed = 0;
  unsigned type = 0;
  const Cuda& cuda = loaded_cuda();
  if (cuda.pointer_get_attribute(&managed, cu::kPointerIsManaged, gpu_) == cu::kSuccess &&
      managed != 0)
    return "managed";
  if (cuda.pointer_get_attribute(&type, cu::kPointerMemoryType, gpu_) != cu::kSuccess)
    return "unknown";
  return type == cu::kMemoryTypeDevice ? "device" : "host";
}

}  // namespace railgauge::mpi
