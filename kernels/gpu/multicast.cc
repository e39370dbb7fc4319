#include "kernels/gpu/multicast.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/units.h"

namespace railgauge::gpu {

// The functions came together with CUDA 12.1.
Status Multicast::check(const Gpu& gpu, HandleKind kind) {
  const Cuda& cuda = loaded_cuda();
  if (cuda.multicast_create == nullptr || cuda.multicast_add_device == nullptr ||
      cuda.multicast_bind_mem == nullptr || cuda.multicast_unbind == nullptr ||
      cuda.multicast_get_granularity == nullptr)
    return fail(Code::kUnimplemented,
                "{}: multicast: driver {} has none; CUDA 12.1 and later have it", gpu.name(),
                cuda.version);
  if (RG_TRY(gpu.attribute(cu::kMulticastSupported)) == 0)
    return fail(Code::kUnimplemented,
                "{}: multicast: the device has none; it needs GPUs of compute capability 9.0 or "
                "later behind an NVLink switch",
                gpu.name());
  return check_handles(gpu, kind);
}

// A size in the recommended unit, else the switch is slower.
Result<Multicast> Multicast::create(const Gpu& gpu, std::uint64_t bytes, std::uint32_t members,
                                    HandleKind kind) {
  RG_TRY_OK(check(gpu, kind));
  const Cuda& cuda = loaded_cuda();
  cu::MulticastObjectProp wanted{.devices = members,
                                 .size = bytes,
                                 .handle_types = static_cast<unsigned long long>(type_of(kind))};
  std::size_t unit = 0;
  RG_TRY_OK(
      gpu_status(gpu, cuda.multicast_get_granularity(&unit, &wanted, cu::kMulticastUnitRecommended),
                 "ask for the unit of multicast memory"));
  wanted.size = (std::max<std::uint64_t>(bytes, 1) + unit - 1) / unit * unit;
  cu::MemHandle raw = 0;
  const cu::Return made = cuda.multicast_create(&raw, &wanted);
  if (kind == HandleKind::kFabric && (made == cu::kNotPermitted || made == cu::kNotSupported))
    return fail(Code::kFailedPrecondition,
                "{}: make a multicast object with a fabric handle: not permitted; the host needs "
                "nvidia-imex and a channel in /dev/nvidia-caps-imex-channels",
                gpu.name());
  RG_TRY_OK(gpu_status(gpu, made,
                       fmt::format("make a multicast object of {} for {} GPUs",
                                   canonical_bytes(wanted.size), members)));
  return imported(gpu, PhysicalHandle(raw), wanted.size, kind);
}

Result<Multicast> Multicast::import(const Gpu& gpu, const Fd& descriptor, std::uint64_t bytes,
                                    HandleKind kind) {
  return imported(gpu, import_memory(gpu, descriptor), bytes, kind);
}

Result<Multicast> Multicast::import(const Gpu& gpu, const std::string& fabric_handle,
                                    std::uint64_t bytes, HandleKind kind) {
  return imported(gpu, import_memory(gpu, fabric_handle), bytes, kind);
}

Result<Multicast> Multicast::imported(const Gpu& gpu, Result<PhysicalHandle> object,
                                      std::uint64_t bytes, HandleKind kind) {
  Multicast member;
  member.gpu_ = &gpu;
  member.kind_ = kind;
  member.size_ = bytes;
  member.object_ = RG_TRY(std::move(object));
  return member;
}

Status Multicast::join() {
  return gpu_status(*gpu_, loaded_cuda().multicast_add_device(object_.get(), gpu_->device()),
                    "join the multicast team");
}

Status Multicast::bind() {
  own_ = RG_TRY(SharedMemory::create(*gpu_, size_, kind_));
  RG_TRY_OK(gpu_status(
      *gpu_, loaded_cuda().multicast_bind_mem(object_.get(), 0, own_.physical().get(), 0, size_, 0),
      "bind memory to the multicast object"));
  bound_ = Handle<BoundTraits>({object_.get(), gpu_->device(), size_});
  return {};
}

Status Multicast::map() {
  mapping_ = RG_TRY(Mapping::of(*gpu_, object_, size_));
  return {};
}

}  // namespace railgauge::gpu
