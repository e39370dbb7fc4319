// The fake driver's GPUs, contexts, modules and launches.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "kernels/fakes/cuda/cuda_objects.h"
#include "kernels/fakes/fake_uuid.h"

namespace railgauge::fake {
namespace {

constexpr int kMaxGpus = 16;
constexpr cu::Return kInvalidContext = 201;
constexpr cu::Return kContextIsDestroyed = 709;

struct Contexts {
  std::mutex mutex;
  std::array<cu::ContextObject, kMaxGpus> objects;
  std::array<std::int64_t, kMaxGpus> references{};
  std::array<std::set<int>, kMaxGpus> peers;  // GPUs that the context may reach
};
Contexts& contexts() {
  static auto* made = [] {
    auto* all = new Contexts;
    for (int i = 0; i < kMaxGpus; ++i) all->objects[static_cast<std::size_t>(i)].device = i;
    return all;
  }();
  return *made;
}
thread_local cu::Context t_current = nullptr;

int gpu_count() { return static_cast<int>(std::min<std::uint64_t>(cuda_control().gpus, kMaxGpus)); }
bool is_gpu(cu::Device device) { return device >= 0 && device < gpu_count(); }

struct ErrorName {
  cu::Return value;
  const char* name;
  const char* words;
};
constexpr std::array kErrors{
    ErrorName{cu::kSuccess, "CUDA_SUCCESS", "no error"},
    ErrorName{cu::kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    ErrorName{cu::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    ErrorName{cu::kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    ErrorName{cu::kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
              "no kernel image is available for execution on the device"},
    ErrorName{kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    ErrorName{cu::kPeerAccessUnsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
              "peer access is not supported between these two devices"},
    ErrorName{cu::kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    ErrorName{cu::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    ErrorName{cu::kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    ErrorName{cu::kUnknown, "CUDA_ERROR_UNKNOWN", "unknown error"}};

const ErrorName* error_of(cu::Return value) {
  for (const ErrorName& error : kErrors)
    if (error.value == value) return &error;
  return nullptr;
}

int attribute_of(int which) {
  const CudaControl& control = cuda_control();
  switch (which) {
    case cu::kMultiprocessorCount:
      return 4;
    case cu::kL2CacheBytes:
      return 1 << 20;
    case cu::kComputeCapabilityMajor:
      return static_cast<int>(control.capability / 10);
    case cu::kComputeCapabilityMinor:
      return static_cast<int>(control.capability % 10);
    case cu::kManagedMemory:
      return 1;
    case cu::kUsesHostPageTables:
      return static_cast<int>(control.coherent);
    case cu::kGpuDirectRdmaWritesOrdering:
      return static_cast<int>(control.writes_ordering);
    case cu::kGpuDirectRdmaFlushOptions:
      return control.no_flush == 0 ? cu::kFlushByHost : 0;
    case cu::kRdmaOfCreatedMemory:
    case cu::kPosixHandlesSupported:
      return 1;
    case cu::kFabricHandlesSupported:
      return static_cast<int>(control.fabric != 0);
    case cu::kMulticastSupported:
      return static_cast<int>(control.multicast != 0);
    case cu::kDmaBufSupported:
      return static_cast<int>(control.dmabuf);
    case cu::kDmaBufMmapSupported:
      return static_cast<int>(control.dmabuf_mmap);
    default:
      return 0;
  }
}

void put_text(char* out, int size, const std::string& text) {
  std::snprintf(out, static_cast<std::size_t>(size), "%s", text.c_str());
}

cu::Return drop_context(cu::Device device) {
  if (!is_gpu(device)) return cu::kInvalidDevice;
  const std::lock_guard lock(contexts().mutex);
  auto& references = contexts().references[static_cast<std::size_t>(device)];
  if (references == 0) return kInvalidContext;
  --cuda_control().contexts;
  if (--references == 0) contexts().peers[static_cast<std::size_t>(device)].clear();
  return answer();
}

}  // namespace

int current_device() { return t_current != nullptr ? t_current->device : -1; }

cu::Return enter_context(const char* name) {
  if (const cu::Return failed = enter(name); failed != cu::kSuccess) return failed;
  if (t_current == nullptr) return kInvalidContext;
  const std::lock_guard lock(contexts().mutex);
  return contexts().references[static_cast<std::size_t>(t_current->device)] > 0
             ? cu::kSuccess
             : kContextIsDestroyed;
}

}  // namespace railgauge::fake

using railgauge::fake::contexts;
using railgauge::fake::cuda_control;
using railgauge::fake::enter;
using railgauge::fake::enter_context;
using railgauge::fake::is_gpu;
namespace fake = railgauge::fake;

#define RAILGAUGE_ENTER(function) \
  if (const cu::Return failed = function(__func__); failed != cu::kSuccess) return failed
// Also requires that `device` is a GPU.
#define RAILGAUGE_ENTER_GPU(device) \
  RAILGAUGE_ENTER(enter);           \
  if (!is_gpu(device)) return cu::kInvalidDevice

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

void railgauge_synthetic_cuda() {}

cu::Return cuInit(unsigned int) {
  RAILGAUGE_ENTER(enter);
  return fake::gpu_count() == 0 ? cu::kNoDevice : cu::kSuccess;
}

cu::Return cuDriverGetVersion(int* version) {
  RAILGAUGE_ENTER(enter);
  *version = static_cast<int>(cuda_control().driver_version);
  return cu::kSuccess;
}

cu::Return cuGetErrorName(cu::Return value, const char** name) {
  const auto* error = fake::error_of(value);
  *name = error != nullptr ? error->name : nullptr;
  return error != nullptr ? cu::kSuccess : cu::kInvalidValue;
}

cu::Return cuGetErrorString(cu::Return value, const char** words) {
  const auto* error = fake::error_of(value);
  *words = error != nullptr ? error->words : nullptr;
  return error != nullptr ? cu::kSuccess : cu::kInvalidValue;
}

cu::Return cuDeviceGetCount(int* count) {
  RAILGAUGE_ENTER(enter);
  *count = fake::gpu_count();
  return cu::kSuccess;
}

cu::Return cuDeviceGet(cu::Device* device, int index) {
  RAILGAUGE_ENTER_GPU(index);
  *device = index;
  return cu::kSuccess;
}

cu::Return cuDeviceGetName(char* out, int size, cu::Device device) {
  RAILGAUGE_ENTER_GPU(device);
  fake::put_text(out, size,
                 cuda_control().mig != 0 ? "Railgauge fake MIG 1g.18gb" : "Railgauge fake");
  return cu::kSuccess;
}

cu::Return cuDeviceGetAttribute(int* value, int which, cu::Device device) {
  RAILGAUGE_ENTER_GPU(device);
  *value = fake::attribute_of(which);
  return cu::kSuccess;
}

cu::Return cuDeviceGetPCIBusId(char* out, int size, cu::Device device) {
  RAILGAUGE_ENTER_GPU(device);
  std::snprintf(out, static_cast<std::size_t>(size), "0000:%02X:00.0",
                fake::fake_bus(static_cast<unsigned>(device)));
  return cu::kSuccess;
}

cu::Return cuDeviceGetUuid(cu::Uuid* uuid, cu::Device device) {
  RAILGAUGE_ENTER_GPU(device);
  std::ranges::copy(fake::fake_uuid(static_cast<unsigned>(device)), uuid->bytes);
  return cu::kSuccess;
}

// A slice has its own, another one for each value of `mig`.
cu::Return cuDeviceGetUuid_v2(cu::Uuid* uuid, cu::Device device) {
  RAILGAUGE_ENTER_GPU(device);
  auto bytes = fake::fake_uuid(static_cast<unsigned>(device));
  bytes[5] = static_cast<std::uint8_t>(cuda_control().mig);
  std::ranges::copy(bytes, uuid->bytes);
  return cu::kSuccess;
}

cu::Return cuDeviceCanAccessPeer(int* can, cu::Device device, cu::Device peer) {
  RAILGAUGE_ENTER_GPU(device);
  if (!is_gpu(peer)) return cu::kInvalidDevice;
  *can = device != peer && cuda_control().no_peer == 0 ? 1 : 0;
  return cu::kSuccess;
}

cu::Return cuDevicePrimaryCtxRetain(cu::Context* context, cu::Device device) {
  RAILGAUGE_ENTER_GPU(device);
  const std::lock_guard lock(contexts().mutex);
  ++contexts().references[static_cast<std::size_t>(device)];
  ++cuda_control().contexts;
  *context = &contexts().objects[static_cast<std::size_t>(device)];
  return cu::kSuccess;
}

cu::Return cuDevicePrimaryCtxRelease(cu::Device device) { return fake::drop_context(device); }
cu::Return cuDevicePrimaryCtxRelease_v2(cu::Device device) { return fake::drop_context(device); }

cu::Return cuCtxSetCurrent(cu::Context context) {
  RAILGAUGE_ENTER(enter);
  fake::t_current = context;
  return cu::kSuccess;
}

cu::Return cuCtxEnablePeerAccess(cu::Context peer, unsigned int) {
  RAILGAUGE_ENTER(enter_context);
  if (cuda_control().no_peer != 0) return cu::kPeerAccessUnsupported;
  const std::lock_guard lock(contexts().mutex);
  auto& peers = contexts().peers[static_cast<std::size_t>(fake::current_device())];
  return peers.insert(peer->device).second ? cu::kSuccess : cu::kPeerAccessAlreadyEnabled;
}

cu::Return cuModuleLoadData(cu::Module* module, const void* image) {
  RAILGAUGE_ENTER(enter_context);
  if (image == nullptr) return cu::kInvalidImage;
  if (cuda_control().no_twins != 0) return cu::kNoBinaryForGpu;
  *module = new cu::ModuleObject;
  ++cuda_control().modules;
  return cu::kSuccess;
}

cu::Return cuModuleUnload(cu::Module module) {
  if (module == nullptr) return cu::kInvalidHandle;
  delete module;
  --cuda_control().modules;
  return fake::answer();
}

cu::Return cuModuleGetFunction(cu::Function* function, cu::Module, const char* name) {
  RAILGAUGE_ENTER(enter_context);
  *function = fake::twin_named(name);
  return *function != nullptr ? cu::kSuccess : cu::kNotFound;
}

cu::Return cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, cu::Function, int,
                                                       std::size_t) {
  RAILGAUGE_ENTER(enter_context);
  *blocks = 2;
  return cu::kSuccess;
}

cu::Return cuLaunchKernel(cu::Function function, unsigned int grid_x, unsigned int grid_y,
                          unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                          unsigned int block_z, unsigned int, cu::Stream stream, void** arguments,
                          void**) {
  fake::settle_writes();  // what came before a launch is seen by it
  RAILGAUGE_ENTER(enter_context);
  const std::uint64_t blocks = std::uint64_t{grid_x} * grid_y * grid_z;
  const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
  constexpr std::uint64_t kMaxThreads = 1024;
  if (blocks == 0 || threads == 0 || threads > kMaxThreads) return cu::kInvalidValue;
  const std::string_view name = function->name;
  const bool measured = name.starts_with("railgauge_copy") || name == "railgauge_chase";
  if (measured) cuda_control().copy_blocks = blocks;
  if (measured && !fake::begin_copy(stream)) return cu::kSuccess;
  fake::queue_of(stream)->push(
      function->twin({.blocks = blocks, .threads = threads, .arguments = arguments}));
  return cu::kSuccess;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
