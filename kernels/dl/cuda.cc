// The driver's table: binding, initialisation, and the meaning of its results.
#include "kernels/dl/cuda.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "kernels/dl/hip.h"
#include "kernels/dl/table.h"

namespace railgauge {
namespace {

TableLoader<Cuda> g_cuda;

// The outcome of a result and its remedy, where the result alone shows it. Results that are not
// listed become kInternal.
struct Meaning {
  cu::Return result;
  Code code;
  const char* help;
};
constexpr Meaning kMeanings[] = {
    // NOLINT(modernize-avoid-c-arrays)
    {cu::kOutOfMemory, Code::kFailedPrecondition, ""},
    {cu::kStubLibrary, Code::kFailedPrecondition,
     "; this is the toolkit's stub, put the driver's folder first in the library path"},
    {cu::kNewerDriverNeeded, Code::kUnimplemented, "; a newer driver has it"},
    {cu::kDeviceUnavailable, Code::kFailedPrecondition,
     "; another process holds it exclusively (compute mode) or it is lost"},
    {cu::kNoDevice, Code::kNotFound,
     "; nvidia-smi shows the GPUs of this machine, CUDA_VISIBLE_DEVICES may hide them"},
    {cu::kInvalidDevice, Code::kNotFound, ""},
    {cu::kNoBinaryForGpu, Code::kUnimplemented, ""},
    {cu::kInvalidPtx, Code::kUnimplemented, "; the driver's compiler refuses it"},
    {cu::kJitCompilerNotFound, Code::kUnimplemented,
     "; install the driver's libnvidia-ptxjitcompiler"},
    {cu::kUnsupportedPtxVersion, Code::kUnimplemented, "; a newer driver takes it"},
    {cu::kPeerAccessUnsupported, Code::kUnimplemented, ""},
    {cu::kNotPermitted, Code::kPermissionDenied, ""},
    {cu::kNotSupported, Code::kUnimplemented, ""},
    {cu::kSystemNotReady, Code::kFailedPrecondition,
     "; on an NVSwitch machine the fabric manager must be running (nvidia-fabricmanager)"},
    {cu::kSystemDriverMismatch, Code::kFailedPrecondition,
     "; the library is of another release than the loaded module, reboot or reload the module"},
    {cu::kCompatNotSupportedOnDevice, Code::kUnimplemented, ""},
};

// Set by keep_sites_hardware_queues().
std::atomic<bool> g_sites_queues{false};

// All functions of the table. Without a required one: its name, and the driver that has it.
Result<Cuda> bind_functions(const Library& library) {
  auto bound = [&library]() -> Result<Cuda> {
    Cuda table;
    RAILGAUGE_CUDA_REQUIRED(RAILGAUGE_BIND)
    RAILGAUGE_CUDA_OPTIONAL(RAILGAUGE_FIND)
    return table;
  }();
  if (bound) return bound;
  return fail(
      bound.error().code,
      fmt::format("CUDA driver: {}; driver {} (CUDA {}) and later have it", bound.error().message,
                  kOldestCudaDriver, cuda_release(kOldestCudaRelease)));
}

// The NVIDIA GPUs of this host; 0 where the driver does not list them. CUDA itself cannot be asked:
// the answer must be known before cuInit.
std::size_t gpus_of_driver() {
  std::size_t gpus = 0;
  std::error_code error;
  std::filesystem::directory_iterator next("/proc/driver/nvidia/gpus", error);
  for (; !error && next != std::filesystem::directory_iterator(); next.increment(error)) ++gpus;
  return gpus;
}

// The driver's table, or HIP's where it is named, or where no CUDA driver is here and HIP is.
// Without either the error is the driver's.
Result<Cuda> bind_some(const std::string& name) {
  if (const char* hip = std::getenv(kHipLibraryVariable); hip != nullptr && *hip != '\0')
    return bind_hip(hip);
  auto cuda = bind_cuda(name);
  if (cuda || cuda.error().code != Code::kNotFound || name != kCudaLibrary) return cuda;
  if (auto hip = bind_hip_of_host()) return hip;
  return cuda;
}

// Binds the table and initialises the driver. Both variables must be set before cuInit, which reads
// them.
Result<Cuda> bind_and_init(const std::string& name) {
  Cuda cuda = RG_TRY(bind_some(name));
  // So that gpuN is the same GPU here, in nvidia-smi and in the agent. A person's own choice stays.
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
  // Jobs set it to 1, so that what they queue keeps its order: then streams that are measured
  // together would take turns. This process is ours alone.
  if (!g_sites_queues)
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(hardware_queues(gpus_of_driver())).c_str(),
           1);
  RG_TRY_OK(cuda_status(cuda, cuda.init(0), "CUDA driver: initialise"));
  RG_TRY_OK(cuda_status(cuda, cuda.driver_get_version(&cuda.driver_version),
                        "CUDA driver: ask its version"));
  return cuda;
}

}  // namespace

void keep_sites_hardware_queues() { g_sites_queues = true; }

// CUDA programming guide, environment variables: 1 to 32, 8 by default.
unsigned hardware_queues(std::size_t gpus) {
  constexpr std::size_t kDefault = 8;  // the driver's own
  constexpr std::size_t kMost = 32;    // the driver's
  return static_cast<unsigned>(std::clamp(gpus + 2, kDefault, kMost));
}

// A required function that is missing refuses the library; an optional one leaves its slot empty.
Result<Cuda> bind_cuda(const std::string& name) {
  const Library library = RG_TRY(Library::open(name, "CUDA driver", "install the NVIDIA driver"));
  Cuda cuda = RG_TRY(bind_functions(library));
  describe_library(library, kSyntheticCudaMarker, cuda);
  return cuda;
}

Result<const Cuda*> load_cuda() {
  return g_cuda.load(bind_and_init, kCudaLibrary, kCudaLibraryVariable);
}

const Cuda& loaded_cuda() { return g_cuda.loaded(); }

// Name and words come from the driver, which knows results that this build does not.
Status cuda_status(const Cuda& cuda, cu::Return returned, std::string_view act) {
  if (returned == cu::kSuccess) return {};
  const char* name = nullptr;
  const char* words = nullptr;
  cuda.get_error_name(returned, &name);
  cuda.get_error_string(returned, &words);
  Code code = Code::kInternal;
  const char* help = "";
  for (const Meaning& meaning : kMeanings)
    if (meaning.result == returned) {
      code = meaning.code;
      help = meaning.help;
    }
  return fail(code, fmt::format("{}: {} ({}): {}{}", act, name != nullptr ? name : "CUDA error",
                                returned, words != nullptr ? words : "no description", help));
}

std::string cuda_release(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace railgauge
