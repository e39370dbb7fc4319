#include "kernels/gpu/shared_memory.h"

#include <algorithm>
#include <cstring>

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

// CUmemAllocationHandleType.
int type_of(HandleKind kind) {
  if (kind == HandleKind::kNone) return cu::kNoHandle;
  return kind == HandleKind::kPosix ? cu::kPosixHandle : cu::kFabricHandle;
}

}  // namespace

// A GPU may support fabric handles on a host without their channel: creating is then not permitted.
Result<SharedMemory> SharedMemory::create(const Gpu& gpu, std::uint64_t bytes, HandleKind kind) {
  RG_TRY_OK(check_functions(gpu));
  const bool is_fabric = kind == HandleKind::kFabric;
  if (kind == HandleKind::kNone && RG_TRY(gpu.attribute(cu::kRdmaOfCreatedMemory)) == 0)
    return fail(Code::kUnimplemented, "{}: make memory of cuMemCreate: none of it can be mapped",
                gpu.name());
  if (kind != HandleKind::kNone &&
      RG_TRY(gpu.attribute(is_fabric ? cu::kFabricHandlesSupported : cu::kPosixHandlesSupported)) ==
          0)
    return fail(Code::kUnimplemented, "{}: make memory with a {} handle: the GPU has none{}",
                gpu.name(), is_fabric ? "fabric" : "POSIX",
                is_fabric ? "; it needs NVLink between nodes and IMEX" : "");
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
  SharedMemory memory;
  memory.physical_ = Handle<PhysicalTraits>(raw);
  RG_TRY_OK(memory.map(gpu, size));
  return memory;
}

// The driver keeps a reference of its own: the descriptor may be closed afterwards.
Result<SharedMemory> SharedMemory::import(const Gpu& gpu, const Fd& descriptor,
                                          std::uint64_t bytes) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver takes the number in a pointer
  auto* number = reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor.get()));
  return import_handle(gpu, number, cu::kPosixHandle, bytes);
}

Result<SharedMemory> SharedMemory::import(const Gpu& gpu, const std::string& fabric_handle,
                                          std::uint64_t bytes) {
  if (fabric_handle.size() != cu::kFabricHandleBytes)
    return fail(Code::kInternal, "{}: import memory: a fabric handle of {} bytes", gpu.name(),
                fabric_handle.size());
  std::string own = fabric_handle;
  return import_handle(gpu, own.data(), cu::kFabricHandle, bytes);
}

// The imported memory is that of whichever GPU made it; access to it is given below.
Result<SharedMemory> SharedMemory::import_handle(const Gpu& gpu, void* from, int type,
                                                 std::uint64_t bytes) {
  RG_TRY_OK(check_functions(gpu));
  cu::MemHandle raw = 0;
  RG_TRY_OK(gpu_status(gpu, loaded_cuda().mem_import(&raw, from, type),
                       "import another process's memory"));
  SharedMemory memory;
  memory.physical_ = Handle<PhysicalTraits>(raw);
  RG_TRY_OK(memory.map(gpu, bytes));
  return memory;
}

// Without peer access between the GPUs the driver refuses the access.
Status SharedMemory::map(const Gpu& gpu, std::uint64_t bytes) {
  const Cuda& cuda = loaded_cuda();
  cu::DevicePtr address = 0;
  RG_TRY_OK(gpu_status(gpu, cuda.mem_address_reserve(&address, bytes, 0, 0, 0),
                       "reserve addresses for shared memory"));
  range_ = Handle<RangeTraits>({address, bytes});
  RG_TRY_OK(
      gpu_status(gpu, cuda.mem_map(address, bytes, 0, physical_.get(), 0), "map shared memory"));
  mapping_ = Handle<MappingTraits>({address, bytes});
  const cu::MemAccessDesc access{.location = {.type = cu::kMemOnDevice, .id = gpu.index()},
                                 .flags = cu::kMemReadWrite};
  return gpu_status(gpu, cuda.mem_set_access(address, bytes, &access, 1),
                    "get access to shared memory");
}

// Each export is one more reference to the memory, which lives until the last one ends.
Result<Fd> SharedMemory::export_descriptor(const Gpu& gpu) const {
  int descriptor = -1;
  RG_TRY_OK(gpu_status(gpu,
                       loaded_cuda().mem_export(&descriptor, physical_.get(), cu::kPosixHandle, 0),
                       "export memory as a descriptor"));
  return Fd(descriptor);
}

Result<std::string> SharedMemory::export_fabric(const Gpu& gpu) const {
  std::string handle(cu::kFabricHandleBytes, '\0');
  RG_TRY_OK(gpu_status(
      gpu, loaded_cuda().mem_export(handle.data(), physical_.get(), cu::kFabricHandle, 0),
      "export memory as a fabric handle"));
  return handle;
}

}  // namespace railgauge::gpu
