#include "kernels/dl/hip.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "kernels/dl/table.h"

namespace railgauge {
namespace {

// One row a function whose arguments are those of the driver's slot: slot and HIP's symbol.
// Addresses are pointers there and numbers here, of the same width.
#define RAILGAUGE_HIP_ALIKE(ROW)                                                       \
  ROW(init, hipInit)                                                                   \
  ROW(device_get_count, hipGetDeviceCount)                                             \
  ROW(device_get, hipDeviceGet)                                                        \
  ROW(device_get_name, hipDeviceGetName)                                               \
  ROW(device_get_pci_bus_id, hipDeviceGetPCIBusId)                                     \
  ROW(device_can_access_peer, hipDeviceCanAccessPeer)                                  \
  ROW(primary_ctx_retain, hipDevicePrimaryCtxRetain)                                   \
  ROW(primary_ctx_release, hipDevicePrimaryCtxRelease)                                 \
  ROW(ctx_set_current, hipCtxSetCurrent)                                               \
  ROW(ctx_synchronize, hipDeviceSynchronize)                                           \
  ROW(ctx_enable_peer_access, hipCtxEnablePeerAccess)                                  \
  ROW(mem_get_info, hipMemGetInfo)                                                     \
  ROW(mem_alloc, hipMalloc)                                                            \
  ROW(mem_free, hipFree)                                                               \
  ROW(mem_get_address_range, hipMemGetAddressRange)                                    \
  ROW(mem_alloc_managed, hipMallocManaged)                                             \
  ROW(mem_host_alloc, hipHostMalloc)                                                   \
  ROW(mem_free_host, hipHostFree)                                                      \
  ROW(mem_host_register, hipHostRegister)                                              \
  ROW(mem_host_unregister, hipHostUnregister)                                          \
  ROW(mem_host_get_device_pointer, hipHostGetDevicePointer)                            \
  ROW(memcpy_htod, hipMemcpyHtoD)                                                      \
  ROW(memcpy_dtoh, hipMemcpyDtoH)                                                      \
  ROW(memset_d8, hipMemsetD8)                                                          \
  ROW(stream_create, hipStreamCreateWithFlags)                                         \
  ROW(stream_destroy, hipStreamDestroy)                                                \
  ROW(stream_synchronize, hipStreamSynchronize)                                        \
  ROW(stream_query, hipStreamQuery)                                                    \
  ROW(event_create, hipEventCreateWithFlags)                                           \
  ROW(event_destroy, hipEventDestroy)                                                  \
  ROW(event_record, hipEventRecord)                                                    \
  ROW(event_query, hipEventQuery)                                                      \
  ROW(event_elapsed_time, hipEventElapsedTime)                                         \
  ROW(module_load_data, hipModuleLoadData)                                             \
  ROW(module_unload, hipModuleUnload)                                                  \
  ROW(module_get_function, hipModuleGetFunction)                                       \
  ROW(occupancy_max_active_blocks, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor) \
  ROW(launch_kernel, hipModuleLaunchKernel)

// Without these the GPU has no identity, or exports no memory to a NIC.
#define RAILGAUGE_HIP_OPTIONAL(ROW)      \
  ROW(device_get_uuid, hipDeviceGetUuid) \
  ROW(mem_get_handle_for_address_range, hipMemGetHandleForAddressRange)

// HIP's functions with other arguments, behind the adapters.
struct HipCalls {
  int (*driver_get_version)(int*) = nullptr;
  const char* (*get_error_name)(int) = nullptr;
  const char* (*get_error_string)(int) = nullptr;
  int (*device_get_attribute)(int*, int, int) = nullptr;
  int (*memcpy_async)(void*, const void*, std::size_t, int, cu::Stream) = nullptr;
  int (*pointer_get_attribute)(void*, int, void*) = nullptr;
  int (*stream_wait_value32)(cu::Stream, void*, std::uint32_t, unsigned, std::uint32_t) = nullptr;
  bool exports_dmabuf = false;
  // Kinds of memory count from 0 before release 6, and from 1 as CUDA's from there on.
  unsigned first_memory_kind = 1;
};
HipCalls g_hip;  // of the one library of the process; written before any call

// NOLINTBEGIN(performance-no-int-to-ptr): addresses are numbers in the driver's interface
void* pointer_of(cu::DevicePtr address) { return reinterpret_cast<void*>(address); }
// NOLINTEND(performance-no-int-to-ptr)

// Adapters: the driver's signature, HIP's call.
cu::Return driver_get_version(int* out) {
  int version = 0;
  const cu::Return returned = g_hip.driver_get_version(&version);
  *out = release_of_hip(version);
  return returned;
}
cu::Return get_error_name(cu::Return error, const char** out) {
  *out = g_hip.get_error_name(error);
  return cu::kSuccess;
}
cu::Return get_error_string(cu::Return error, const char** out) {
  *out = g_hip.get_error_string(error);
  return cu::kSuccess;
}

// An attribute that HIP lacks is refused as a driver refuses one that is newer than itself.
cu::Return device_get_attribute(int* value, int which, cu::Device device) {
  if (which == cu::kDmaBufSupported) {
    *value = g_hip.exports_dmabuf ? 1 : 0;
    return cu::kSuccess;
  }
  const int attribute = hip_attribute(which);
  if (attribute < 0) return cu::kInvalidValue;
  return g_hip.device_get_attribute(value, attribute, device);
}

// The direction follows from the addresses.
cu::Return memcpy_async(cu::DevicePtr to, cu::DevicePtr from, std::size_t bytes,
                        cu::Stream stream) {
  constexpr int kByAddresses = 4;  // hipMemcpyDefault
  return g_hip.memcpy_async(pointer_of(to), pointer_of(from), bytes, kByAddresses, stream);
}

cu::Return pointer_get_attribute(void* out, int which, cu::DevicePtr address) {
  const cu::Return returned = g_hip.pointer_get_attribute(out, which, pointer_of(address));
  if (returned == cu::kSuccess && which == cu::kPointerMemoryType)
    *static_cast<unsigned*>(out) += 1 - g_hip.first_memory_kind;
  return returned;
}
// HIP has no SYNC_MEMOPS to set: its copies from and to host memory wait by themselves.
cu::Return pointer_set_attribute(const void*, int, cu::DevicePtr) { return cu::kSuccess; }

cu::Return stream_wait_value32(cu::Stream stream, cu::DevicePtr address, std::uint32_t value,
                               unsigned flags) {
  return g_hip.stream_wait_value32(stream, pointer_of(address), value, flags, UINT32_MAX);
}

template <class Function>
Status find_call(const Library& library, const char* symbol, Function& out) {
  out = RG_TRY(library.bind<Function>(symbol));
  return {};
}

// Fills the slots whose arguments differ. A runtime without a wait for a value leaves its slot
// empty, as an old driver does.
Status bind_adapters(const Library& library, Cuda& table) {
  RG_TRY_OK(find_call(library, "hipDriverGetVersion", g_hip.driver_get_version));
  RG_TRY_OK(find_call(library, "hipGetErrorName", g_hip.get_error_name));
  RG_TRY_OK(find_call(library, "hipGetErrorString", g_hip.get_error_string));
  RG_TRY_OK(find_call(library, "hipDeviceGetAttribute", g_hip.device_get_attribute));
  RG_TRY_OK(find_call(library, "hipMemcpyAsync", g_hip.memcpy_async));
  RG_TRY_OK(find_call(library, "hipPointerGetAttribute", g_hip.pointer_get_attribute));
  table.driver_get_version = driver_get_version;
  table.get_error_name = get_error_name;
  table.get_error_string = get_error_string;
  table.device_get_attribute = device_get_attribute;
  table.memcpy_async = memcpy_async;
  table.pointer_get_attribute = pointer_get_attribute;
  table.pointer_set_attribute = pointer_set_attribute;
  g_hip.stream_wait_value32 =
      library.find<decltype(g_hip.stream_wait_value32)>("hipStreamWaitValue32");
  if (g_hip.stream_wait_value32 != nullptr) table.stream_wait_value32 = stream_wait_value32;
  g_hip.exports_dmabuf = table.mem_get_handle_for_address_range != nullptr;
  constexpr int kFirstWithKindsFromOne = 6'000;
  int release = 0;
  if (table.driver_get_version(&release) == cu::kSuccess)
    g_hip.first_memory_kind = release >= kFirstWithKindsFromOne ? 1 : 0;
  return {};
}

}  // namespace

int release_of_hip(int hip_version) {
  constexpr int kMajor = 10'000'000;
  constexpr int kMinor = 100'000;
  return hip_version / kMajor * 1000 + hip_version % kMajor / kMinor * 10;
}

// The numbers are those of hipDeviceAttribute_t from release 6 on.
int hip_attribute(int cuda_attribute) {
  constexpr std::array<std::array<int, 2>, 6> kNumbers{{{cu::kL2CacheBytes, 19},
                                                        {cu::kComputeCapabilityMajor, 23},
                                                        {cu::kManagedMemory, 24},
                                                        {cu::kComputeCapabilityMinor, 61},
                                                        {cu::kMultiprocessorCount, 63},
                                                        {cu::kUsesHostPageTables, 66}}};
  for (const auto& [cuda, hip] : kNumbers)
    if (cuda == cuda_attribute) return hip;
  return -1;
}

Result<Cuda> bind_hip(const std::string& name) {
  const Library library =
      RG_TRY(Library::open(name, "HIP runtime", "install ROCm's hip-runtime-amd"));
  Cuda table;
  RAILGAUGE_HIP_ALIKE(RAILGAUGE_BIND)
  RAILGAUGE_HIP_OPTIONAL(RAILGAUGE_FIND)
  RG_TRY_OK(bind_adapters(library, table));
  describe_library(library, kSyntheticHipMarker, table);
  table.is_hip = true;
  return table;
}

// The newest release that is installed. Another error than an absent library is the answer: a
// broken runtime is not replaced by an older one.
Result<Cuda> bind_hip_of_host() {
  Result<Cuda> table = fail(Code::kNotFound, "HIP runtime: none of its releases is here");
  for (const char* name : kHipLibraries) {
    table = bind_hip(name);
    if (table || table.error().code != Code::kNotFound) return table;
  }
  return table;
}

}  // namespace railgauge
