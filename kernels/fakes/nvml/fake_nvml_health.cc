// The GPU health and modes that the fake NVML reports with its setting `health`.
#include "kernels/dl/nvml.h"
#include "kernels/fakes/nvml/fake_nvml.h"

namespace ml = railgauge::ml;
using railgauge::fake::nvml_control;

extern "C" {
#define RAILGAUGE_DECLARE(slot, symbol, parameters) ml::Return symbol parameters;
RAILGAUGE_NVML_OPTIONAL(RAILGAUGE_DECLARE)
#undef RAILGAUGE_DECLARE
}

namespace {

constexpr unsigned long long kBar1Bytes = 128ULL << 30U;

ml::Return enter() {
  auto& control = nvml_control();
  if (control.health == 0) return ml::kNotSupported;
  if (control.health_error != 0) return static_cast<ml::Return>(control.health_error.load());
  if (++control.calls == control.fail_call) return static_cast<ml::Return>(control.fail_error);
  return control.live_handles > 0 ? ml::kSuccess : ml::kUninitialized;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

ml::Return nvmlDeviceGetBAR1MemoryInfo(ml::Device, ml::Memory* memory) {
  *memory = {.total_bytes = kBar1Bytes, .free_bytes = kBar1Bytes, .used_bytes = 0};
  return enter();
}

ml::Return nvmlDeviceGetEccMode(ml::Device, int* now, int* pending) {
  *now = *pending = static_cast<int>(nvml_control().ecc);
  return enter();
}

ml::Return nvmlDeviceGetTotalEccErrors(ml::Device, int kind, int, unsigned long long* count) {
  *count = kind == ml::kUncorrected ? nvml_control().ecc_errors.load() : 0;
  return enter();
}

ml::Return nvmlDeviceGetPersistenceMode(ml::Device, int* mode) {
  *mode = static_cast<int>(nvml_control().persistence);
  return enter();
}

ml::Return nvmlDeviceGetComputeMode(ml::Device, int* mode) {
  *mode = static_cast<int>(nvml_control().compute_mode);
  return enter();
}

ml::Return nvmlDeviceGetCudaComputeCapability(ml::Device, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return enter();
}

ml::Return nvmlDeviceGetGpuFabricInfo(ml::Device, ml::FabricInfo* info) {
  *info = {};
  info->state = static_cast<unsigned char>(nvml_control().fabric);
  return enter();
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
