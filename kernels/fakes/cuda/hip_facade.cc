// HIP's runtime without hardware: libamdhip64-fake.so, loaded through RAILGAUGE_LIBHIP, over the
// fake CUDA driver: the same memory, streams and twins under HIP's names. Numbers that
// differ are HIP's here: attributes, kinds of memory, the release. Controlled by
// fake_cuda.h.
#include <array>
#include <cstdint>

#include "kernels/dl/cuda.h"
#include "kernels/fakes/cuda/fake_cuda.h"

namespace cu = railgauge::cu;

extern "C" {
#define RAILGAUGE_DECLARE(slot, symbol, parameters) cu::Return symbol parameters;
RAILGAUGE_CUDA_REQUIRED(RAILGAUGE_DECLARE)
RAILGAUGE_CUDA_OPTIONAL(RAILGAUGE_DECLARE)
#undef RAILGAUGE_DECLARE

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
void railgauge_synthetic_hip() {}

int hipInit(unsigned int a0) { return cuInit(a0); }
int hipGetDeviceCount(int* a0) { return cuDeviceGetCount(a0); }
int hipDeviceGet(cu::Device* a0, int a1) { return cuDeviceGet(a0, a1); }
int hipDeviceGetName(char* a0, int a1, cu::Device a2) { return cuDeviceGetName(a0, a1, a2); }
int hipDeviceGetPCIBusId(char* a0, int a1, cu::Device a2) {
  return cuDeviceGetPCIBusId(a0, a1, a2);
}
int hipDeviceCanAccessPeer(int* a0, cu::Device a1, cu::Device a2) {
  return cuDeviceCanAccessPeer(a0, a1, a2);
}
int hipDevicePrimaryCtxRetain(cu::Context* a0, cu::Device a1) {
  return cuDevicePrimaryCtxRetain(a0, a1);
}
int hipDevicePrimaryCtxRelease(cu::Device a0) { return cuDevicePrimaryCtxRelease(a0); }
int hipCtxSetCurrent(cu::Context a0) { return cuCtxSetCurrent(a0); }
int hipDeviceSynchronize() { return cuCtxSynchronize(); }
int hipCtxEnablePeerAccess(cu::Context a0, unsigned int a1) {
  return cuCtxEnablePeerAccess(a0, a1);
}
int hipMemGetInfo(std::size_t* a0, std::size_t* a1) { return cuMemGetInfo_v2(a0, a1); }
int hipMalloc(cu::DevicePtr* a0, std::size_t a1) { return cuMemAlloc_v2(a0, a1); }
int hipFree(cu::DevicePtr a0) { return cuMemFree_v2(a0); }
int hipMemGetAddressRange(cu::DevicePtr* a0, std::size_t* a1, cu::DevicePtr a2) {
  return cuMemGetAddressRange_v2(a0, a1, a2);
}
int hipMallocManaged(cu::DevicePtr* a0, std::size_t a1, unsigned int a2) {
  return cuMemAllocManaged(a0, a1, a2);
}
int hipHostMalloc(void** a0, std::size_t a1, unsigned int a2) { return cuMemHostAlloc(a0, a1, a2); }
int hipHostFree(void* a0) { return cuMemFreeHost(a0); }
int hipHostRegister(void* a0, std::size_t a1, unsigned int a2) {
  return cuMemHostRegister_v2(a0, a1, a2);
}
int hipHostUnregister(void* a0) { return cuMemHostUnregister(a0); }
int hipHostGetDevicePointer(cu::DevicePtr* a0, void* a1, unsigned int a2) {
  return cuMemHostGetDevicePointer_v2(a0, a1, a2);
}
int hipMemcpyHtoD(cu::DevicePtr a0, const void* a1, std::size_t a2) {
  return cuMemcpyHtoD_v2(a0, a1, a2);
}
int hipMemcpyDtoH(void* a0, cu::DevicePtr a1, std::size_t a2) {
  return cuMemcpyDtoH_v2(a0, a1, a2);
}
int hipMemsetD8(cu::DevicePtr a0, unsigned char a1, std::size_t a2) {
  return cuMemsetD8_v2(a0, a1, a2);
}
int hipStreamCreateWithFlags(cu::Stream* a0, unsigned int a1) { return cuStreamCreate(a0, a1); }
int hipStreamDestroy(cu::Stream a0) { return cuStreamDestroy_v2(a0); }
int hipStreamSynchronize(cu::Stream a0) { return cuStreamSynchronize(a0); }
int hipStreamQuery(cu::Stream a0) { return cuStreamQuery(a0); }
int hipEventCreateWithFlags(cu::Event* a0, unsigned int a1) { return cuEventCreate(a0, a1); }
int hipEventDestroy(cu::Event a0) { return cuEventDestroy_v2(a0); }
int hipEventRecord(cu::Event a0, cu::Stream a1) { return cuEventRecord(a0, a1); }
int hipEventQuery(cu::Event a0) { return cuEventQuery(a0); }
int hipEventElapsedTime(float* a0, cu::Event a1, cu::Event a2) {
  return cuEventElapsedTime(a0, a1, a2);
}
int hipModuleLoadData(cu::Module* a0, const void* a1) { return cuModuleLoadData(a0, a1); }
int hipModuleUnload(cu::Module a0) { return cuModuleUnload(a0); }
int hipModuleGetFunction(cu::Function* a0, cu::Module a1, const char* a2) {
  return cuModuleGetFunction(a0, a1, a2);
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* a0, cu::Function a1, int a2,
                                                       std::size_t a3) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessor(a0, a1, a2, a3);
}
int hipModuleLaunchKernel(cu::Function a0, unsigned int a1, unsigned int a2, unsigned int a3,
                          unsigned int a4, unsigned int a5, unsigned int a6, unsigned int a7,
                          cu::Stream a8, void** a9, void** a10) {
  return cuLaunchKernel(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10);
}
int hipDeviceGetUuid(cu::Uuid* a0, cu::Device a1) { return cuDeviceGetUuid(a0, a1); }
int hipMemGetHandleForAddressRange(void* a0, cu::DevicePtr a1, std::size_t a2, int a3,
                                   unsigned long long a4) {
  return cuMemGetHandleForAddressRange(a0, a1, a2, a3, a4);
}

int hipDriverGetVersion(int* out) {
  constexpr int kRelease62 = 60'241'134;
  *out = kRelease62;
  return cu::kSuccess;
}
const char* hipGetErrorName(int error) {
  const char* name = nullptr;
  cuGetErrorName(error, &name);
  return name != nullptr ? name : "hipErrorUnknown";
}
const char* hipGetErrorString(int error) {
  const char* words = nullptr;
  cuGetErrorString(error, &words);
  return words != nullptr ? words : "unknown error";
}
int hipDeviceGetAttribute(int* value, int which, int device) {
  constexpr std::array<std::array<int, 2>, 6> kNumbers{{{19, cu::kL2CacheBytes},
                                                        {23, cu::kComputeCapabilityMajor},
                                                        {24, cu::kManagedMemory},
                                                        {61, cu::kComputeCapabilityMinor},
                                                        {63, cu::kMultiprocessorCount},
                                                        {66, cu::kUsesHostPageTables}}};
  for (const auto& [hip, cuda] : kNumbers)
    if (hip == which) return cuDeviceGetAttribute(value, cuda, device);
  return cu::kInvalidValue;
}
int hipMemcpyAsync(cu::DevicePtr to, cu::DevicePtr from, std::size_t bytes, int kind,
                   cu::Stream stream) {
  constexpr int kByAddresses = 4;
  return kind == kByAddresses ? cuMemcpyAsync(to, from, bytes, stream) : cu::kInvalidValue;
}
int hipPointerGetAttribute(void* out, int which, cu::DevicePtr address) {
  return cuPointerGetAttribute(out, which, address);
}
int hipStreamWaitValue32(cu::Stream stream, cu::DevicePtr address, std::uint32_t value,
                         unsigned flags, std::uint32_t mask) {
  return mask == UINT32_MAX ? cuStreamWaitValue32_v2(stream, address, value, flags)
                            : cu::kInvalidValue;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
