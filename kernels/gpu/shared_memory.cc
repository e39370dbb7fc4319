#include "kernels/gpu/shared_memory.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/units.h"
#include "kernels/gpu/handles.h"

namespace railgauge::gpu {
namespace {

// All or none: the functions came together with CUDA 10.2.
Status check_functions(const Gpu& gpu) {
  const Cuda& cuda = loaded_cuda();
  if (cuda.mem_create != nullptr && cuda.mem_release != nullptr && cuda.mem_map != nullptr &&
      cuda.mem_unmap != nullptr && cuda.mem_set_access != nullptr &&
      cuda.mem_address_reserve != nullptr && cuda.mem_address_free != nullptr &&
      cuda.mem_export != nullptr && cuda.mem_import != nullptr &&
      cuda.mem_get_allocation_granularity != nullptr)
    return {};
  return fail(Code::kUnimplemented,
              "{}: make memory that processes share: driver {} cannot; CUDA 10.2 and later can",
              gpu.name(), cuda.version);
}

// The driver reads from `from` what the type says.
Result<PhysicalHandle> import_from(const Gpu& gpu, void* from, int type) {
  RG_TRY_OK(check_functions(gpu));
  cu::MemHandle raw = 0;
  RG_TRY_OK(gpu_status(gpu, loaded_cuda().mem_import(&raw, from, type),
                       "import another process's memory"));
  return PhysicalHandle(raw);
}

}  // namespace

// CUmemAllocationHandleType.
int type_of(HandleKind kind) {
  if (kind == HandleKind::kNone) return cu::kNoHandle;
  return kind == HandleKind::kPosix ? cu::kPosixHandle : cu::kFabricHandle;
}

Status check_handles(const Gpu& gpu, HandleKind kind) {
  RG_TRY_OK(check_functions(gpu));
  if (kind == HandleKind::kNone) return {};
  const bool is_fabric = kind == HandleKind::kFabric;
  if (RG_TRY(gpu.attribute(is_fabric ? cu::kFabricHandlesSupported : cu::kPosixHandlesSupported)) !=
      0)
    return {};
  return fail(Code::kUnimplemented, "{}: make memory with a {} handle: the GPU has none{}",
              gpu.name(), is_fabric ? "fabric" : "POSIX",
              is_fabric ? "; it needs NVLink between nodes and IMEX" : "");
}

// A GPU may support fabric handles on a host without their channel: creating is then not permitted.
Result<SharedMemory> SharedMemory::create(const Gpu& gpu, std::uint64_t bytes, HandleKind kind) {
  RG_TRY_OK(check_handles(gpu, kind));
  const bool is_fabric = kind == HandleKind::kFabric;
  if (kind == HandleKind::kNone && RG_TRY(gpu.attribute(cu::kRdmaOfCreatedMemory)) == 0)
    return fail(Code::kUnimplemented, "{}: make memory of cuMemCreate: none of it can be mapped",
                gpu.name());
  const Cuda& cuda = loaded_cuda();
  cu::MemAllocationProp wanted;
  wanted.type = cu::kMemPinned;
  wanted.handle_types = type_of(kind);
  if (kind == HandleKind::kNone) wanted.flags.gpu_direct_rdma_capable = 1;
  wanted.location = {.type = cu::kMemOnDevice, .id = gpu.index()};
  std::size_t unit = 0;
  RG_TRY_OK(gpu_status(gpu, cuda.mem_get_allocation_granularity(&unit, &wanted, 0),
                       "ask for the unit of memory"));
  const std::uint64_t size = (std::max<std::uint64_t>(bytes, 1) + unit - 1) / unit * unit;
  cu::MemHandle raw = 0;
  const cu::Return made = cuda.mem_create(&raw, size, &wanted, 0);
  if (is_fabric && (made == cu::kNotPermitted || made == cu::kNotSupported))
    return fail(
        Code::kFailedPrecondition,
        "{}: make memory with a fabric handle: not permitted; the host needs nvidia-imex and "
        "a channel in /dev/nvidia-caps-imex-channels",
        gpu.name());
  RG_TRY_OK(gpu_status(gpu, made, fmt::format("create {} of memory", canonical_bytes(size))));
  return mapped(gpu, PhysicalHandle(raw), size);
}

// The driver keeps a reference of its own: the descriptor may be closed afterwards.
Result<PhysicalHandle> import_memory(const Gpu& gpu, const Fd& descriptor) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes the number in a pointer
  auto* number = reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor.get()));
  return import_from(gpu, number, cu::kPosixHandle);
}

Result<PhysicalHandle> import_memory(const Gpu& gpu, const std::string& fabric_handle) {
  if (fabric_handle.size() != cu::kFabricHandleBytes)
    return fail(Code::kInternal, "{}: import memory: a fabric handle of {} bytes", gpu.name(),
                fabric_handle.size());
  std::string own = fabric_handle;
  return import_from(gpu, own.data(), cu::kFabricHandle);
}

Result<SharedMemory> SharedMemory::import(const Gpu& gpu, const Fd& descriptor,
                                          std::uint64_t bytes) {
  return mapped(gpu, import_memory(gpu, descriptor), bytes);
}

Result<SharedMemory> SharedMemory::import(const Gpu& gpu, const std::string& fabric_handle,
                                          std::uint64_t bytes) {
  return mapped(gpu, import_memory(gpu, fabric_handle), bytes);
}

// The imported memory is that of whichever GPU made it; the mapping gives this one access.
Result<SharedMemory> SharedMemory::mapped(const Gpu& gpu, Result<PhysicalHandle> memory,
                                          std::uint64_t bytes) {
  SharedMemory shared;
  shared.physical_ = RG_TRY(std::move(memory));
  shared.mapping_ = RG_TRY(Mapping::of(gpu, shared.physical_, bytes));
  return shared;
}

// Without peer access between the GPUs the driver refuses the access.
Result<Mapping> Mapping::of(const Gpu& gpu, const PhysicalHandle& memory, std::uint64_t bytes) {
  const Cuda& cuda = loaded_cuda();
  Mapping mapping;
  cu::DevicePtr address = 0;
  RG_TRY_OK(gpu_status(gpu, cuda.mem_address_reserve(&address, bytes, 0, 0, 0),
                       "reserve addresses for shared memory"));
  mapping.reserved_ = Handle<ReservedTraits>({address, bytes});
  RG_TRY_OK(gpu_status(gpu, cuda.mem_map(address, bytes, 0, memory.get(), 0), "map shared memory"));
  mapping.mapped_ = Handle<MappedTraits>({address, bytes});
  const cu::MemAccessDesc access{.location = {.type = cu::kMemOnDevice, .id = gpu.index()},
                                 .flags = cu::kMemReadWrite};
  RG_TRY_OK(gpu_status(gpu, cuda.mem_set_access(address, bytes, &access, 1),
                       "get access to shared memory"));
  return mapping;
}

// Each export is one more reference to the memory, which lives until the last one ends.
Result<Fd> export_as_descriptor(const Gpu& gpu, const PhysicalHandle& memory) {
  int descriptor = -1;
  RG_TRY_OK(gpu_status(gpu,
                       loaded_cuda().mem_export(&descriptor, memory.get(), cu::kPosixHandle, 0),
                       "export memory as a descriptor"));
  return Fd(descriptor);
}

Result<std::string> export_as_fabric(const Gpu& gpu, const PhysicalHandle& memory) {
  std::string handle(cu::kFabricHandleBytes, '\0');
  RG_TRY_OK(gpu_status(gpu,
                       loaded_cuda().mem_export(handle.data(), memory.get(), cu::kFabricHandle, 0),
                       "export memory as a fabric handle"));
  return handle;
}

}  // namespace railgauge::gpu
