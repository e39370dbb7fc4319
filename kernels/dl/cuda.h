// The CUDA driver API, as far as we call it: declared here and loaded at run time, so that building
// needs no CUDA toolkit and starting needs no driver. cuda_abi_test.cc compares every declaration
// with the vendor's cuda.h where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

// The vendor's types and numbers under our own names, so that a test can include both headers.
namespace railgauge::cu {

using Return = int;  // CUresult
using Device = int;
using DevicePtr = unsigned long long;
using Context = struct ContextObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using Module = struct ModuleObject*;
using Function = struct FunctionObject*;
using ExternalMemory = struct ExternalMemoryObject*;
using Graph = struct GraphObject*;
using GraphExec = struct GraphExecObject*;

// CUuuid: 16 bytes as nvidia-smi prints them.
struct Uuid {
  unsigned char bytes[16];  // NOLINT(modernize-avoid-c-arrays): the vendor's layout
};

// CUDA_EXTERNAL_MEMORY_HANDLE_DESC: the memory of another API that CUDA imports.
struct ExternalMemoryHandleDesc {
  int type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
    const void* nv_sci_buf_object;
  } handle;
  unsigned long long size;
  unsigned int flags;
  unsigned int reserved[16];  // NOLINT(modernize-avoid-c-arrays)
};

// CUDA_EXTERNAL_MEMORY_BUFFER_DESC: the part of imported memory that becomes a device pointer.
struct ExternalMemoryBufferDesc {
  unsigned long long offset;
  unsigned long long size;
  unsigned int flags;
  unsigned int reserved[16];  // NOLINT(modernize-avoid-c-arrays)
};

// CUmemLocation, CUmemAllocationProp and CUmemAccessDesc: physical memory of cuMemCreate, and who
// may use a mapping of it.
struct MemLocation {
  int type = 0;
  int id = 0;
};
struct MemAllocationProp {
  int type = 0;
  int handle_types = 0;
  MemLocation location{};
  void* win32 = nullptr;
  struct {
    unsigned char compression;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];  // NOLINT(modernize-avoid-c-arrays): the vendor's layout
  } flags{};
};
struct MemAccessDesc {
  MemLocation location{};
  int flags = 0;
};
using MemHandle = unsigned long long;  // CUmemGenericAllocationHandle
// CUmulticastObjectProp: memory of several GPUs that one store reaches.
struct MulticastObjectProp {
  unsigned int devices = 0;
  std::size_t size = 0;
  unsigned long long handle_types = 0;
  unsigned long long flags = 0;
};
inline constexpr int kMulticastUnitRecommended = 1;
inline constexpr int kMemPinned = 1;
inline constexpr int kMemOnDevice = 1;
inline constexpr int kMemReadWrite = 3;
// CUmemAllocationHandleType: a descriptor of one host, or the 64 bytes of CUmemFabricHandle.
inline constexpr int kNoHandle = 0;
inline constexpr int kPosixHandle = 1;
inline constexpr int kFabricHandle = 8;
inline constexpr std::size_t kFabricHandleBytes = 64;

// CUresult, as far as a caller or a fake distinguishes them.
inline constexpr Return kSuccess = 0;
inline constexpr Return kInvalidValue = 1;
inline constexpr Return kOutOfMemory = 2;
inline constexpr Return kStubLibrary = 34;
inline constexpr Return kNewerDriverNeeded = 36;
inline constexpr Return kDeviceUnavailable = 46;
inline constexpr Return kNoDevice = 100;
inline constexpr Return kInvalidDevice = 101;
inline constexpr Return kInvalidImage = 200;
inline constexpr Return kNoBinaryForGpu = 209;
inline constexpr Return kPeerAccessUnsupported = 217;
inline constexpr Return kInvalidPtx = 218;
inline constexpr Return kJitCompilerNotFound = 221;
inline constexpr Return kUnsupportedPtxVersion = 222;
inline constexpr Return kInvalidHandle = 400;
inline constexpr Return kNotFound = 500;
inline constexpr Return kNotReady = 600;
inline constexpr Return kPeerAccessAlreadyEnabled = 704;
inline constexpr Return kLaunchFailed = 719;
inline constexpr Return kNotPermitted = 800;
inline constexpr Return kNotSupported = 801;
inline constexpr Return kSystemNotReady = 802;
inline constexpr Return kSystemDriverMismatch = 803;
inline constexpr Return kCompatNotSupportedOnDevice = 804;
inline constexpr Return kUnknown = 999;

// CUdevice_attribute, for Gpu::attribute().
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kL2CacheBytes = 38;
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;
inline constexpr int kManagedMemory = 83;
inline constexpr int kUsesHostPageTables = 100;  // coherent: plain loads and stores reach the GPU
inline constexpr int kGpuDirectRdmaFlushOptions = 117;
inline constexpr int kGpuDirectRdmaWritesOrdering = 118;
inline constexpr int kPosixHandlesSupported = 103;
inline constexpr int kRdmaOfCreatedMemory = 110;
inline constexpr int kDmaBufSupported = 124;
inline constexpr int kFabricHandlesSupported = 128;
inline constexpr int kMulticastSupported = 132;
// DMA_BUF_MMAP_SUPPORTED of CUDA 13.3; the toolkit that we check against is older.
inline constexpr int kDmaBufMmapSupported = 152;

// CUpointer_attribute. kPointerMemoryType yields one of the two memory types below.
inline constexpr int kPointerMemoryType = 2;
inline constexpr int kPointerSyncMemops = 6;
inline constexpr int kPointerIsManaged = 8;
inline constexpr unsigned kMemoryTypeHost = 1;
inline constexpr unsigned kMemoryTypeDevice = 2;

// Flags of the calls that make streams, events and host memory. kStreamNonBlocking: the stream does
// not wait for the default stream.
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kWaitValueGeq = 0;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr unsigned kHostAllocDeviceMap = 2;
inline constexpr unsigned kHostAllocWriteCombined = 4;
inline constexpr unsigned kHostRegisterPortable = 1;
inline constexpr unsigned kHostRegisterDeviceMap = 2;
inline constexpr unsigned kAttachGlobal = 1;
// Bits of kGpuDirectRdmaFlushOptions: the host can flush by cuFlushGPUDirectRDMAWrites, and a
// stream's memory operations can.
inline constexpr int kFlushByHost = 1;
inline constexpr int kFlushByStream = 2;
inline constexpr int kFlushCurrentContext = 0;
// Values of kGpuDirectRdmaWritesOrdering, and scopes of a flush.
inline constexpr int kWritesOrderedForOwner = 100;
inline constexpr int kWritesOrderedForAllDevices = 200;
inline constexpr int kExternalMemoryOpaqueFd = 1;
inline constexpr int kRangeHandleDmaBufFd = 1;
inline constexpr unsigned long long kRangeMappingPcie = 1;

}  // namespace railgauge::cu

// One row a function: slot, exported symbol (with its version suffix), parameters. Each returns
// cu::Return. The newest required functions are cuDevicePrimaryCtxRetain and -Release of CUDA 7.0
// (next: cuMemHostRegister_v2 and cuOccupancyMax... of 6.5), so 7.0 is the oldest release that
// loads: kOldestCudaRelease. cuda_abi_test.cc compares it with the vendor's cudaTypedefs.h. Only
// functions that production code calls have a row: an unused row is one more reason not to load.
#define RAILGAUGE_CUDA_REQUIRED(ROW)                                                        \
  ROW(init, cuInit, (unsigned int))                                                         \
  ROW(driver_get_version, cuDriverGetVersion, (int*))                                       \
  ROW(get_error_name, cuGetErrorName, (cu::Return, const char**))                           \
  ROW(get_error_string, cuGetErrorString, (cu::Return, const char**))                       \
  ROW(device_get_count, cuDeviceGetCount, (int*))                                           \
  ROW(device_get, cuDeviceGet, (cu::Device*, int))                                          \
  ROW(device_get_name, cuDeviceGetName, (char*, int, cu::Device))                           \
  ROW(device_get_attribute, cuDeviceGetAttribute, (int*, int, cu::Device))                  \
  ROW(device_get_pci_bus_id, cuDeviceGetPCIBusId, (char*, int, cu::Device))                 \
  ROW(device_can_access_peer, cuDeviceCanAccessPeer, (int*, cu::Device, cu::Device))        \
  ROW(primary_ctx_retain, cuDevicePrimaryCtxRetain, (cu::Context*, cu::Device))             \
  ROW(primary_ctx_release, cuDevicePrimaryCtxRelease, (cu::Device))                         \
  ROW(ctx_set_current, cuCtxSetCurrent, (cu::Context))                                      \
  ROW(ctx_synchronize, cuCtxSynchronize, ())                                                \
  ROW(ctx_enable_peer_access, cuCtxEnablePeerAccess, (cu::Context, unsigned int))           \
  ROW(mem_get_info, cuMemGetInfo_v2, (std::size_t*, std::size_t*))                          \
  ROW(mem_alloc, cuMemAlloc_v2, (cu::DevicePtr*, std::size_t))                              \
  ROW(mem_free, cuMemFree_v2, (cu::DevicePtr))                                              \
  ROW(mem_get_address_range, cuMemGetAddressRange_v2,                                       \
      (cu::DevicePtr*, std::size_t*, cu::DevicePtr))                                        \
  ROW(mem_alloc_managed, cuMemAllocManaged, (cu::DevicePtr*, std::size_t, unsigned int))    \
  ROW(mem_host_alloc, cuMemHostAlloc, (void**, std::size_t, unsigned int))                  \
  ROW(mem_free_host, cuMemFreeHost, (void*))                                                \
  ROW(mem_host_register, cuMemHostRegister_v2, (void*, std::size_t, unsigned int))          \
  ROW(mem_host_unregister, cuMemHostUnregister, (void*))                                    \
  ROW(mem_host_get_device_pointer, cuMemHostGetDevicePointer_v2,                            \
      (cu::DevicePtr*, void*, unsigned int))                                                \
  ROW(memcpy_htod, cuMemcpyHtoD_v2, (cu::DevicePtr, const void*, std::size_t))              \
  ROW(memcpy_dtoh, cuMemcpyDtoH_v2, (void*, cu::DevicePtr, std::size_t))                    \
  ROW(memcpy_async, cuMemcpyAsync, (cu::DevicePtr, cu::DevicePtr, std::size_t, cu::Stream)) \
  ROW(memset_d8, cuMemsetD8_v2, (cu::DevicePtr, unsigned char, std::size_t))                \
  ROW(pointer_get_attribute, cuPointerGetAttribute, (void*, int, cu::DevicePtr))            \
  ROW(pointer_set_attribute, cuPointerSetAttribute, (const void*, int, cu::DevicePtr))      \
  ROW(stream_create, cuStreamCreate, (cu::Stream*, unsigned int))                           \
  ROW(stream_destroy, cuStreamDestroy_v2, (cu::Stream))                                     \
  ROW(stream_synchronize, cuStreamSynchronize, (cu::Stream))                                \
  ROW(stream_query, cuStreamQuery, (cu::Stream))                                            \
  ROW(event_create, cuEventCreate, (cu::Event*, unsigned int))                              \
  ROW(event_destroy, cuEventDestroy_v2, (cu::Event))                                        \
  ROW(event_record, cuEventRecord, (cu::Event, cu::Stream))                                 \
  ROW(event_query, cuEventQuery, (cu::Event))                                               \
  ROW(event_elapsed_time, cuEventElapsedTime, (float*, cu::Event, cu::Event))               \
  ROW(module_load_data, cuModuleLoadData, (cu::Module*, const void*))                       \
  ROW(module_unload, cuModuleUnload, (cu::Module))                                          \
  ROW(module_get_function, cuModuleGetFunction, (cu::Function*, cu::Module, const char*))   \
  ROW(occupancy_max_active_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor,             \
      (int*, cu::Function, int, std::size_t))                                               \
  ROW(launch_kernel, cuLaunchKernel,                                                        \
      (cu::Function, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,  \
       unsigned int, unsigned int, cu::Stream, void**, void**))

// Functions that older drivers lack: the slot may be nullptr.
#define RAILGAUGE_CUDA_OPTIONAL(ROW)                                                              \
  ROW(device_get_uuid, cuDeviceGetUuid, (cu::Uuid*, cu::Device))                                  \
  ROW(primary_ctx_release_v2, cuDevicePrimaryCtxRelease_v2, (cu::Device))                         \
  ROW(stream_wait_value32, cuStreamWaitValue32_v2,                                                \
      (cu::Stream, cu::DevicePtr, std::uint32_t, unsigned int))                                   \
  ROW(stream_wait_value32_v1, cuStreamWaitValue32,                                                \
      (cu::Stream, cu::DevicePtr, std::uint32_t, unsigned int))                                   \
  ROW(mem_get_handle_for_address_range, cuMemGetHandleForAddressRange,                            \
      (void*, cu::DevicePtr, std::size_t, int, unsigned long long))                               \
  ROW(import_external_memory, cuImportExternalMemory,                                             \
      (cu::ExternalMemory*, const cu::ExternalMemoryHandleDesc*))                                 \
  ROW(external_memory_get_mapped_buffer, cuExternalMemoryGetMappedBuffer,                         \
      (cu::DevicePtr*, cu::ExternalMemory, const cu::ExternalMemoryBufferDesc*))                  \
  ROW(destroy_external_memory, cuDestroyExternalMemory, (cu::ExternalMemory))                     \
  ROW(flush_gpudirect_rdma_writes, cuFlushGPUDirectRDMAWrites, (int, int))                        \
  ROW(mem_get_allocation_granularity, cuMemGetAllocationGranularity,                              \
      (std::size_t*, const cu::MemAllocationProp*, int))                                          \
  ROW(mem_create, cuMemCreate,                                                                    \
      (cu::MemHandle*, std::size_t, const cu::MemAllocationProp*, unsigned long long))            \
  ROW(mem_release, cuMemRelease, (cu::MemHandle))                                                 \
  ROW(mem_address_reserve, cuMemAddressReserve,                                                   \
      (cu::DevicePtr*, std::size_t, std::size_t, cu::DevicePtr, unsigned long long))              \
  ROW(mem_address_free, cuMemAddressFree, (cu::DevicePtr, std::size_t))                           \
  ROW(mem_map, cuMemMap,                                                                          \
      (cu::DevicePtr, std::size_t, std::size_t, cu::MemHandle, unsigned long long))               \
  ROW(mem_unmap, cuMemUnmap, (cu::DevicePtr, std::size_t))                                        \
  ROW(mem_set_access, cuMemSetAccess,                                                             \
      (cu::DevicePtr, std::size_t, const cu::MemAccessDesc*, std::size_t))                        \
  ROW(mem_export, cuMemExportToShareableHandle, (void*, cu::MemHandle, int, unsigned long long))  \
  ROW(mem_import, cuMemImportFromShareableHandle, (cu::MemHandle*, void*, int))                   \
  ROW(multicast_get_granularity, cuMulticastGetGranularity,                                       \
      (std::size_t*, const cu::MulticastObjectProp*, int))                                        \
  ROW(multicast_create, cuMulticastCreate, (cu::MemHandle*, const cu::MulticastObjectProp*))      \
  ROW(multicast_add_device, cuMulticastAddDevice, (cu::MemHandle, cu::Device))                    \
  ROW(multicast_bind_mem, cuMulticastBindMem,                                                     \
      (cu::MemHandle, std::size_t, cu::MemHandle, std::size_t, std::size_t, unsigned long long))  \
  ROW(multicast_unbind, cuMulticastUnbind, (cu::MemHandle, cu::Device, std::size_t, std::size_t)) \
  ROW(stream_begin_capture, cuStreamBeginCapture_v2, (cu::Stream, int))                           \
  ROW(stream_end_capture, cuStreamEndCapture, (cu::Stream, cu::Graph*))                           \
  ROW(graph_instantiate, cuGraphInstantiateWithFlags,                                             \
      (cu::GraphExec*, cu::Graph, unsigned long long))                                            \
  ROW(graph_launch, cuGraphLaunch, (cu::GraphExec, cu::Stream))                                   \
  ROW(graph_exec_destroy, cuGraphExecDestroy, (cu::GraphExec))                                    \
  ROW(graph_destroy, cuGraphDestroy, (cu::Graph))

namespace railgauge {

// The driver's functions and facts. Read-only once loaded, so threads share it.
struct Cuda {
// NOLINTNEXTLINE(bugprone-macro-parentheses): names cannot stand in parentheses
#define RAILGAUGE_SLOT(slot, symbol, parameters) cu::Return(*slot) parameters = nullptr;
  RAILGAUGE_CUDA_REQUIRED(RAILGAUGE_SLOT)
  RAILGAUGE_CUDA_OPTIONAL(RAILGAUGE_SLOT)
#undef RAILGAUGE_SLOT

  // The file that was loaded, links resolved.
  std::string path;
  // The driver's release from the file's name: "580.159.04".
  std::string version;
  // True for a fake, which exports kSyntheticCudaMarker. Its figures are marked as synthetic.
  bool synthetic = false;
  // The newest CUDA release that the driver supports: 13000 is 13.0. HIP: its own release.
  int driver_version = 0;
  // The functions are HIP's, for AMD's GPUs: kernels/dl/hip.h.
  bool is_hip = false;
};

// The oldest CUDA release whose driver has every required function, and its Linux driver.
inline constexpr int kOldestCudaRelease = 7'000;
inline constexpr const char* kOldestCudaDriver = "346.46";

// The fake's marker, and the name by which the loader finds the driver.
inline constexpr const char* kSyntheticCudaMarker = "railgauge_synthetic_cuda";
inline constexpr const char* kCudaLibrary = "libcuda.so.1";
// Names another file to load instead, such as the fake of kernels/fakes.
inline constexpr const char* kCudaLibraryVariable = "RAILGAUGE_LIBCUDA";

// Returns the hardware queues of a context (CUDA_DEVICE_MAX_CONNECTIONS) on a host with `gpus`
// GPUs: more than the streams that one GPU runs at once, which are one for each other GPU (when all
// copy to or from it) and two to and from the host. At least the driver's default, at most its
// limit. The limit itself would be slow: on an H200 with driver 580 a context opens in 0.13 s and
// closes in 0.08 s with 8 queues, in 0.48 s and 0.30 s with 32. Pure.
unsigned hardware_queues(std::size_t gpus);

// Keeps the environment's CUDA_DEVICE_MAX_CONNECTIONS in this process, for kernels that measure as
// production jobs do. Call before load_cuda(). Thread safe.
void keep_sites_hardware_queues();

// Fills a table from the library `name`, not initialised. kNotFound: no driver; kUnimplemented: a
// function is missing.
Result<Cuda> bind_cuda(const std::string& name);

// Returns the process's table, initialised (cuInit), with GPUs ordered by PCI address. Errors
// waive: no driver, no GPU, a driver that is not ready. Thread safe.
Result<const Cuda*> load_cuda();

// Returns the loaded table, for releasing handles; CHECKs that load_cuda() succeeded before.
const Cuda& loaded_cuda();

// Converts a call's result to a Status: "`act`: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory", with
// the remedy where one is known. `act` has thing and action ("gpu0: allocate 1 GiB"). A lack of
// this machine or driver becomes a waiver (kFailedPrecondition, kNotFound, kUnimplemented),
// everything else kInternal.
Status cuda_status(const Cuda& cuda, cu::Return returned, std::string_view act);

// Formats 13000 as "13.0".
std::string cuda_release(int version);

}  // namespace railgauge
