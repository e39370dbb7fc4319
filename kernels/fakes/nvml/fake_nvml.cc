#include "kernels/fakes/nvml/fake_nvml.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/dl/nvml.h"
#include "kernels/fakes/fake_uuid.h"
#include "kernels/fakes/settings.h"

namespace railgauge::ml {
struct GpuObject {
  unsigned index = 0;
};
}  // namespace railgauge::ml

namespace ml = railgauge::ml;

extern "C" {
#define RAILGAUGE_DECLARE(slot, symbol, parameters) ml::Return symbol parameters;
RAILGAUGE_NVML_REQUIRED(RAILGAUGE_DECLARE)
RAILGAUGE_NVML_OPTIONAL(RAILGAUGE_DECLARE)
#undef RAILGAUGE_DECLARE
}

namespace railgauge::fake {

NvmlControl& nvml_control() {
  static NvmlControl* control = [] {
    auto* made = new NvmlControl;
    made->reset();
    return made;
  }();
  return *control;
}

void NvmlControl::reset() {
  const std::array settings{Setting{"fail_call", fail_call, 0},
                            Setting{"fail_error", fail_error, ml::kUnknown},
                            Setting{"gpus", gpus, 2},
                            Setting{"mig", mig, 0},
                            Setting{"throttle", throttle, 0},
                            Setting{"throttle_gpu", throttle_gpu, 0},
                            Setting{"throttle_after", throttle_after, 0},
                            Setting{"throttle_until", throttle_until, 0},
                            Setting{"power_held_ns", power_held_ns, 0},
                            Setting{"heat_held_ns", heat_held_ns, 0},
                            Setting{"no_fields", no_fields, 0},
                            Setting{"no_violations", no_violations, 0},
                            Setting{"busy_pid", busy_pid, 0},
                            Setting{"busy_gpu", busy_gpu, 0},
                            Setting{"busy_after", busy_after, 0},
                            Setting{"graphics_pid", graphics_pid, 0},
                            Setting{"no_processes", no_processes, 0},
                            Setting{"foreign_pid", foreign_pid, 0},
                            Setting{"utilization", utilization, 0},
                            Setting{"utilization_looks", utilization_looks, 0},
                            Setting{"no_clocks", no_clocks, 0},
                            Setting{"sm_clock_mhz", sm_clock_mhz, 1980},
                            Setting{"remapped_rows", remapped_rows, 0},
                            Setting{"remap_pending", remap_pending, 0},
                            Setting{"nvlinks", nvlinks, 0},
                            Setting{"nvlink_error", nvlink_error, 0},
                            Setting{"health", health, 0},
                            Setting{"health_error", health_error, 0},
                            Setting{"ecc", ecc, 1},
                            Setting{"ecc_errors", ecc_errors, 0},
                            Setting{"persistence", persistence, 1},
                            Setting{"compute_mode", compute_mode, 0},
                            Setting{"fabric", fabric, 0},
                            Setting{"first_bus", first_bus, 0}};
  apply_settings(settings, "RAILGAUGE_FAKE_NVML");
  calls = 0;
  reason_readings = 0;
  utilization_readings = 0;
  for (auto& readings : process_readings) readings = 0;
}

namespace {

constexpr unsigned kMaxGpus = 16;

std::array<ml::GpuObject, kMaxGpus>& devices() {
  static std::array<ml::GpuObject, kMaxGpus> all = [] {
    std::array<ml::GpuObject, kMaxGpus> made;
    for (unsigned i = 0; i < kMaxGpus; ++i) made[i].index = i;
    return made;
  }();
  return all;
}

unsigned gpu_count() {
  return static_cast<unsigned>(std::min<std::uint64_t>(nvml_control().gpus, kMaxGpus));
}

// Counts the call; the error when it is the one that shall fail or NVML is not initialised.
ml::Return enter() {
  NvmlControl& control = nvml_control();
  if (++control.calls == control.fail_call) return static_cast<ml::Return>(control.fail_error);
  return control.live_handles > 0 ? ml::kSuccess : ml::kUninitialized;
}

ml::Return answer(unsigned* out, std::uint64_t value) {
  const ml::Return failed = enter();
  if (failed == ml::kSuccess) *out = static_cast<unsigned>(value);
  return failed;
}

ml::Return answer_text(char* out, unsigned length, const std::string& text) {
  const ml::Return failed = enter();
  if (failed != ml::kSuccess) return failed;
  if (text.size() >= length) return ml::kInsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return ml::kSuccess;
}

ml::Return reasons(ml::Device device, unsigned long long* out) {
  if (const ml::Return failed = enter(); failed != ml::kSuccess) return failed;
  NvmlControl& control = nvml_control();
  if (control.no_clocks != 0) return ml::kNotSupported;
  const std::uint64_t reading = ++control.reason_readings;
  const bool now = reading > control.throttle_after &&
                   (control.throttle_until == 0 || reading <= control.throttle_until);
  *out = now && device->index == control.throttle_gpu ? control.throttle.load() : 0;
  return ml::kSuccess;
}

// Numbers of those with a compute context on the GPU. Counts the reading.
std::vector<std::uint64_t> computing(ml::Device device) {
  NvmlControl& control = nvml_control();
  const std::uint64_t reading = ++control.process_readings[device->index];
  std::vector<std::uint64_t> pids;
  if (control.busy_pid != 0 && device->index == control.busy_gpu && reading > control.busy_after)
    pids.push_back(control.busy_pid);
  if (reading > 1 && control.foreign_pid != 0) pids.push_back(control.foreign_pid);
  return pids;
}

std::vector<std::uint64_t> drawing(ml::Device device) {
  const NvmlControl& control = nvml_control();
  if (control.graphics_pid == 0 || device->index != control.busy_gpu) return {};
  return {control.graphics_pid};
}

// A list in either layout, of the processes that `who` names.
template <class Process, class Who>
ml::Return list_processes(unsigned* count, Process* list, Who who) {
  if (const ml::Return failed = enter(); failed != ml::kSuccess) return failed;
  if (nvml_control().no_processes != 0) return ml::kNotSupported;
  const std::vector<std::uint64_t> pids = who();
  const unsigned room = *count;
  *count = static_cast<unsigned>(pids.size());
  if (*count > room) return ml::kInsufficientSize;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    list[i] = {};
    list[i].pid = static_cast<unsigned>(pids[i]);
    list[i].used_bytes = 1'200'000'000;
  }
  return ml::kSuccess;
}

std::uint64_t held_ns(ml::Device device, bool by_power) {
  const NvmlControl& control = nvml_control();
  if (device->index != control.throttle_gpu) return 0;
  return by_power ? control.power_held_ns : control.heat_held_ns;
}

}  // namespace
}  // namespace railgauge::fake

using railgauge::fake::answer;
using railgauge::fake::answer_text;
using railgauge::fake::enter;
using railgauge::fake::nvml_control;
namespace fake = railgauge::fake;

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

void railgauge_synthetic_nvml() {}

ml::Return nvmlInit_v2() {
  if (++nvml_control().calls == nvml_control().fail_call)
    return static_cast<ml::Return>(nvml_control().fail_error);
  ++nvml_control().live_handles;
  return ml::kSuccess;
}

ml::Return nvmlShutdown() {
  if (nvml_control().live_handles == 0) return ml::kUninitialized;
  --nvml_control().live_handles;
  return ml::kSuccess;
}

const char* nvmlErrorString(ml::Return value) {
  switch (value) {
    case ml::kSuccess:
      return "The operation was successful";
    case ml::kNotSupported:
      return "Not Supported";
    case ml::kUninitialized:
      return "Uninitialized";
    default:
      return "Unknown Error";
  }
}

ml::Return nvmlSystemGetDriverVersion(char* out, unsigned int length) {
  return answer_text(out, length, "0.0.fake");
}

ml::Return nvmlDeviceGetCount_v2(unsigned int* count) { return answer(count, fake::gpu_count()); }

ml::Return nvmlDeviceGetHandleByIndex_v2(unsigned int index, ml::Device* device) {
  if (const ml::Return failed = enter(); failed != ml::kSuccess) return failed;
  if (index >= fake::gpu_count()) return ml::kInvalidArgument;
  *device = &fake::devices()[index];
  return ml::kSuccess;
}

ml::Return nvmlDeviceGetPciInfo_v3(ml::Device device, ml::PciInfo* pci) {
  if (const ml::Return failed = enter(); failed != ml::kSuccess) return failed;
  *pci = {};
  const auto first = static_cast<unsigned>(nvml_control().first_bus);
  pci->bus = first != 0 ? first + device->index : fake::fake_bus(device->index);
  std::snprintf(static_cast<char*>(pci->bus_id), sizeof pci->bus_id, "00000000:%02X:00.0",
                pci->bus);
  return ml::kSuccess;
}

ml::Return nvmlDeviceGetName(ml::Device, char* out, unsigned int length) {
  return answer_text(out, length, "Railgauge fake");
}

ml::Return nvmlDeviceGetUUID(ml::Device device, char* out, unsigned int length) {
  return answer_text(out, length, "GPU-fake-" + std::to_string(device->index));
}

ml::Return nvmlDeviceGetMemoryInfo(ml::Device, ml::Memory* memory) {
  if (const ml::Return failed = enter(); failed != ml::kSuccess) return failed;
  *memory = {.total_bytes = 8ULL << 30U, .free_bytes = 8ULL << 30U, .used_bytes = 0};
  return ml::kSuccess;
}

ml::Return nvmlDeviceGetClockInfo(ml::Device, int which, unsigned int* mhz) {
  if (nvml_control().no_clocks != 0) return ml::kNotSupported;
  return answer(mhz, which == ml::kClockSm ? nvml_control().sm_clock_mhz.load() : 2619);
}

ml::Return nvmlDeviceGetTemperature(ml::Device, int, unsigned int* degrees) {
  return answer(degrees, 41);
}
ml::Return nvmlDeviceGetPowerUsage(ml::Device, unsigned int* milliwatt) {
  return answer(milliwatt, 123'400);
}
ml::Return nvmlDeviceGetCurrPcieLinkGeneration(ml::Device, unsigned int* generation) {
  return answer(generation, 5);
}
ml::Return nvmlDeviceGetCurrPcieLinkWidth(ml::Device, unsigned int* width) {
  return answer(width, 16);
}
ml::Return nvmlDeviceGetMaxPcieLinkGeneration(ml::Device, unsigned int* generation) {
  return answer(generation, 5);
}
ml::Return nvmlDeviceGetMaxPcieLinkWidth(ml::Device, unsigned int* width) {
  return answer(width, 16);
}

ml::Return nvmlDeviceGetUtilizationRates(ml::Device, ml::Utilization* utilization) {
  if (const ml::Return failed = enter(); failed != ml::kSuccess) return failed;
  auto& control = nvml_control();
  const std::uint64_t looks = ++control.utilization_readings;
  const bool over = control.utilization_looks != 0 && looks > control.utilization_looks;
  *utilization = {.gpu_percent = over ? 0U : static_cast<unsigned>(control.utilization),
                  .memory_percent = 0};
  return ml::kSuccess;
}

ml::Return nvmlDeviceGetCurrentClocksEventReasons(ml::Device device, unsigned long long* out) {
  return fake::reasons(device, out);
}
ml::Return nvmlDeviceGetCurrentClocksThrottleReasons(ml::Device device, unsigned long long* out) {
  return fake::reasons(device, out);
}

ml::Return nvmlDeviceGetFieldValues(ml::Device device, int count, ml::FieldValue* values) {
  if (const ml::Return failed = enter(); failed != ml::kSuccess) return failed;
  const auto& control = nvml_control();
  if (control.no_fields != 0) return ml::kNotSupported;
  for (ml::FieldValue* value = values; value != values + count; ++value) {
    const bool power = value->field == ml::kFieldHeldByPower;
    value->type = ml::kTypeUnsignedLongLong;
    value->returned =
        power || value->field == ml::kFieldHeldByHeatSoftware ? ml::kSuccess : ml::kNotSupported;
    value->bits = fake::held_ns(device, power);
  }
  return ml::kSuccess;
}

ml::Return nvmlDeviceGetViolationStatus(ml::Device device, int policy, ml::ViolationTime* out) {
  if (const ml::Return failed = enter(); failed != ml::kSuccess) return failed;
  const auto& control = nvml_control();
  if (control.no_violations != 0 || (policy != ml::kPolicyPower && policy != ml::kPolicyThermal))
    return ml::kNotSupported;
  *out = {.reference_us = 0, .violation_ns = fake::held_ns(device, policy == ml::kPolicyPower)};
  return ml::kSuccess;
}

ml::Return nvmlDeviceGetComputeRunningProcesses_v3(ml::Device device, unsigned int* count,
                                                   ml::Process* list) {
  return fake::list_processes(count, list, [device] { return fake::computing(device); });
}
ml::Return nvmlDeviceGetComputeRunningProcesses_v2(ml::Device device, unsigned int* count,
                                                   ml::Process* list) {
  return fake::list_processes(count, list, [device] { return fake::computing(device); });
}
ml::Return nvmlDeviceGetComputeRunningProcesses(ml::Device device, unsigned int* count,
                                                ml::ProcessV1* list) {
  return fake::list_processes(count, list, [device] { return fake::computing(device); });
}
ml::Return nvmlDeviceGetGraphicsRunningProcesses_v3(ml::Device device, unsigned int* count,
                                                    ml::Process* list) {
  return fake::list_processes(count, list, [device] { return fake::drawing(device); });
}
ml::Return nvmlDeviceGetGraphicsRunningProcesses_v2(ml::Device device, unsigned int* count,
                                                    ml::Process* list) {
  return fake::list_processes(count, list, [device] { return fake::drawing(device); });
}
ml::Return nvmlDeviceGetGraphicsRunningProcesses(ml::Device device, unsigned int* count,
                                                 ml::ProcessV1* list) {
  return fake::list_processes(count, list, [device] { return fake::drawing(device); });
}

ml::Return nvmlDeviceGetMigMode(ml::Device, unsigned int* current, unsigned int* pending) {
  *pending = 0;
  return answer(current, nvml_control().mig);
}

ml::Return nvmlDeviceGetRemappedRows(ml::Device, unsigned int* correctable,
                                     unsigned int* uncorrectable, unsigned int* pending,
                                     unsigned int* failed) {
  *correctable = 0;
  *pending = static_cast<unsigned>(nvml_control().remap_pending);
  *failed = 0;
  return answer(uncorrectable, nvml_control().remapped_rows);
}

// As the driver does: a number past the last link is a wrong argument.
ml::Return nvmlDeviceGetNvLinkState(ml::Device, unsigned int link, int* is_active) {
  const auto& control = nvml_control();
  if (link >= control.nvlinks) return ml::kInvalidArgument;
  if (link + 1 == control.nvlinks && control.nvlink_error != 0)
    return static_cast<ml::Return>(control.nvlink_error.load());
  unsigned up = 0;
  const ml::Return answered = answer(&up, 1);
  if (answered == ml::kSuccess) *is_active = static_cast<int>(up);
  return answered;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
