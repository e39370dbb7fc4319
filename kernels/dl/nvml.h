// NVML, as far as we call it: declared here and loaded at run time. It reports clocks, throttle
// reasons and other users of a GPU. nvml_abi_test.cc compares the declarations with the vendor's
// nvml.h where that is installed, and the figures with nvidia-smi where there is a GPU.
#pragma once

#include <string>
#include <string_view>

#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"

// The vendor's types and numbers under our own names, so that a test can include both headers.
namespace railgauge::ml {

using Return = int;  // nvmlReturn_t
using Device = struct GpuObject*;

// nvmlUtilization_t: percent of the time over the driver's last period, which lasts 1/6 to 1 s.
struct Utilization {
  unsigned int gpu_percent;
  unsigned int memory_percent;
};
// nvmlMemory_t and nvmlBAR1Memory_t, which have one layout.
struct Memory {
  unsigned long long total_bytes;
  unsigned long long free_bytes;
  unsigned long long used_bytes;
};
// nvmlProcessInfo_t as the _v2 and _v3 forms write it (nvml.h of CUDA 11.0 to 13.3: both have this
// layout).
struct Process {
  unsigned int pid;
  unsigned long long used_bytes;  // all ones: not known
  unsigned int gpu_instance;
  unsigned int compute_instance;
};
// The layout of the first form of the call, whose name has no suffix.
struct ProcessV1 {
  unsigned int pid;
  unsigned long long used_bytes;
};
// nvmlFieldValue_t: one counter or setting, asked for by its number.
struct FieldValue {
  unsigned int field;  // which one is asked for
  unsigned int scope;
  long long timestamp_us;
  long long latency_us;
  int type;
  Return returned;          // of this field
  unsigned long long bits;  // a union; `type` selects the member
};
// nvmlViolationTime_t: how long a policy held the clocks down, since the driver was loaded.
struct ViolationTime {
  unsigned long long reference_us;
  unsigned long long violation_ns;
};
// NOLINTBEGIN(modernize-avoid-c-arrays): the vendor's layout
// nvmlPciInfo_t; `bus_id` has a domain of eight digits.
struct PciInfo {
  char bus_id_legacy[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pci_device_id;
  unsigned int pci_subsystem_id;
  char bus_id[32];  // "00000000:00:06.0"
};
// nvmlGpuFabricInfo_t: the registration of a GPU with the NVLink fabric.
struct FabricInfo {
  unsigned char cluster_uuid[16];
  Return status;  // of the registration, once `state` is kFabricCompleted
  unsigned int clique_id;
  unsigned char state;
};
// NOLINTEND(modernize-avoid-c-arrays)

// nvmlReturn_t, as far as a caller or a fake distinguishes them.
inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kVersionMismatch = 18;
inline constexpr Return kUnknown = 999;

// Arguments of queries: clocks, sensors, ECC counters.
inline constexpr int kClockSm = 1;
inline constexpr int kClockMemory = 2;
inline constexpr int kSensorGpu = 0;
inline constexpr unsigned kMigOn = 1;
inline constexpr int kEnabled = 1;    // nvmlEnableState_t
inline constexpr int kCorrected = 0;  // nvmlMemoryErrorType_t
inline constexpr int kUncorrected = 1;
inline constexpr int kVolatileCount = 0;   // nvmlEccCounterType_t: since the driver was loaded
inline constexpr int kAggregateCount = 1;  // of the board's life
inline constexpr unsigned kMostLinks = 36;
inline constexpr unsigned char kFabricCompleted = 3;

// Reasons for the present clocks (nvmlClocksEventReasons).
inline constexpr unsigned long long kReasonIdle = 0x1;
inline constexpr unsigned long long kReasonApplicationClocks = 0x2;
inline constexpr unsigned long long kReasonPowerCap = 0x4;
inline constexpr unsigned long long kReasonHardwareSlowdown = 0x8;
inline constexpr unsigned long long kReasonSyncBoost = 0x10;
inline constexpr unsigned long long kReasonThermal = 0x20;
inline constexpr unsigned long long kReasonHardwareThermal = 0x40;
inline constexpr unsigned long long kReasonPowerBrake = 0x80;
inline constexpr unsigned long long kReasonDisplayClocks = 0x100;

// Counters of the time that clocks were held down, in ns (NVML_FI_DEV_CLOCKS_EVENT_REASON_*).
inline constexpr unsigned kFieldHeldByPower = 74;
inline constexpr unsigned kFieldHeldBySyncBoost = 76;
inline constexpr unsigned kFieldHeldByHeatSoftware = 269;
inline constexpr unsigned kFieldHeldByHeatHardware = 270;
inline constexpr unsigned kFieldHeldByPowerBrake = 271;
// Up to CUDA 13.0 the last three numbers were lower by 18. Since then the lower numbers are
// settings of power smoothing, which had the higher numbers before (headers of CUDA 12.9, 13.0 and
// 13.1).
inline constexpr unsigned kOlderFieldsBelow = 18;
inline constexpr int kTypeUnsigned = 1;
inline constexpr int kTypeUnsignedLong = 2;
inline constexpr int kTypeUnsignedLongLong = 3;
inline constexpr int kTypeSignedLongLong = 4;
// The same counters in older drivers (nvmlPerfPolicyType_t).
inline constexpr int kPolicyPower = 0;
inline constexpr int kPolicyThermal = 1;
inline constexpr int kPolicySyncBoost = 2;

}  // namespace railgauge::ml

// One row a function: slot, exported symbol, parameters. Each returns ml::Return.
#define RAILGAUGE_NVML_REQUIRED(ROW)                                                          \
  ROW(init, nvmlInit_v2, ())                                                                  \
  ROW(shutdown, nvmlShutdown, ())                                                             \
  ROW(system_get_driver_version, nvmlSystemGetDriverVersion, (char*, unsigned int))           \
  ROW(device_get_count, nvmlDeviceGetCount_v2, (unsigned int*))                               \
  ROW(device_get_handle_by_index, nvmlDeviceGetHandleByIndex_v2, (unsigned int, ml::Device*)) \
  ROW(device_get_pci_info, nvmlDeviceGetPciInfo_v3, (ml::Device, ml::PciInfo*))               \
  ROW(device_get_name, nvmlDeviceGetName, (ml::Device, char*, unsigned int))                  \
  ROW(device_get_uuid, nvmlDeviceGetUUID, (ml::Device, char*, unsigned int))                  \
  ROW(device_get_memory_info, nvmlDeviceGetMemoryInfo, (ml::Device, ml::Memory*))             \
  ROW(device_get_clock_info, nvmlDeviceGetClockInfo, (ml::Device, int, unsigned int*))        \
  ROW(device_get_temperature, nvmlDeviceGetTemperature, (ml::Device, int, unsigned int*))     \
  ROW(device_get_power_usage, nvmlDeviceGetPowerUsage, (ml::Device, unsigned int*))           \
  ROW(device_get_pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration,                        \
      (ml::Device, unsigned int*))                                                            \
  ROW(device_get_pcie_width, nvmlDeviceGetCurrPcieLinkWidth, (ml::Device, unsigned int*))     \
  ROW(device_get_max_pcie_generation, nvmlDeviceGetMaxPcieLinkGeneration,                     \
      (ml::Device, unsigned int*))                                                            \
  ROW(device_get_max_pcie_width, nvmlDeviceGetMaxPcieLinkWidth, (ml::Device, unsigned int*))  \
  ROW(device_get_utilization, nvmlDeviceGetUtilizationRates, (ml::Device, ml::Utilization*))

// Functions that some drivers lack: the slot may be nullptr. The clocks' reasons were renamed;
// older drivers have only the second name. Processes are listed by _v3 from CUDA 11.6 on, by _v2
// from 11.0 on, and by the first form always.
#define RAILGAUGE_NVML_OPTIONAL(ROW)                                                         \
  ROW(device_get_clock_reasons, nvmlDeviceGetCurrentClocksEventReasons,                      \
      (ml::Device, unsigned long long*))                                                     \
  ROW(device_get_throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons,                \
      (ml::Device, unsigned long long*))                                                     \
  ROW(device_get_compute_processes, nvmlDeviceGetComputeRunningProcesses_v3,                 \
      (ml::Device, unsigned int*, ml::Process*))                                             \
  ROW(device_get_compute_processes_v2, nvmlDeviceGetComputeRunningProcesses_v2,              \
      (ml::Device, unsigned int*, ml::Process*))                                             \
  ROW(device_get_compute_processes_v1, nvmlDeviceGetComputeRunningProcesses,                 \
      (ml::Device, unsigned int*, ml::ProcessV1*))                                           \
  ROW(device_get_graphics_processes, nvmlDeviceGetGraphicsRunningProcesses_v3,               \
      (ml::Device, unsigned int*, ml::Process*))                                             \
  ROW(device_get_graphics_processes_v2, nvmlDeviceGetGraphicsRunningProcesses_v2,            \
      (ml::Device, unsigned int*, ml::Process*))                                             \
  ROW(device_get_graphics_processes_v1, nvmlDeviceGetGraphicsRunningProcesses,               \
      (ml::Device, unsigned int*, ml::ProcessV1*))                                           \
  ROW(device_get_field_values, nvmlDeviceGetFieldValues, (ml::Device, int, ml::FieldValue*)) \
  ROW(device_get_violation_status, nvmlDeviceGetViolationStatus,                             \
      (ml::Device, int, ml::ViolationTime*))                                                 \
  ROW(device_get_mig_mode, nvmlDeviceGetMigMode, (ml::Device, unsigned int*, unsigned int*)) \
  ROW(device_get_serial, nvmlDeviceGetSerial, (ml::Device, char*, unsigned int))             \
  ROW(device_get_bar1_memory, nvmlDeviceGetBAR1MemoryInfo, (ml::Device, ml::Memory*))        \
  ROW(device_get_ecc_mode, nvmlDeviceGetEccMode, (ml::Device, int*, int*))                   \
  ROW(device_get_ecc_errors, nvmlDeviceGetTotalEccErrors,                                    \
      (ml::Device, int, int, unsigned long long*))                                           \
  ROW(device_get_remapped_rows, nvmlDeviceGetRemappedRows,                                   \
      (ml::Device, unsigned int*, unsigned int*, unsigned int*, unsigned int*))              \
  ROW(device_get_persistence, nvmlDeviceGetPersistenceMode, (ml::Device, int*))              \
  ROW(device_get_compute_mode, nvmlDeviceGetComputeMode, (ml::Device, int*))                 \
  ROW(device_get_max_clock, nvmlDeviceGetMaxClockInfo, (ml::Device, int, unsigned int*))     \
  ROW(device_get_pcie_replays, nvmlDeviceGetPcieReplayCounter, (ml::Device, unsigned int*))  \
  ROW(device_get_link_state, nvmlDeviceGetNvLinkState, (ml::Device, unsigned int, int*))     \
  ROW(device_get_link_remote, nvmlDeviceGetNvLinkRemotePciInfo_v2,                           \
      (ml::Device, unsigned int, ml::PciInfo*))                                              \
  ROW(device_get_capability, nvmlDeviceGetCudaComputeCapability, (ml::Device, int*, int*))   \
  ROW(device_get_brand, nvmlDeviceGetBrand, (ml::Device, int*))                              \
  ROW(device_get_fabric_info, nvmlDeviceGetGpuFabricInfo, (ml::Device, ml::FabricInfo*))

namespace railgauge {

// The library's functions and facts. Read-only once loaded.
struct Nvml {
// NOLINTNEXTLINE(bugprone-macro-parentheses): names cannot stand in parentheses
#define RAILGAUGE_SLOT(slot, symbol, parameters) ml::Return(*slot) parameters = nullptr;
  RAILGAUGE_NVML_REQUIRED(RAILGAUGE_SLOT)
  RAILGAUGE_NVML_OPTIONAL(RAILGAUGE_SLOT)
#undef RAILGAUGE_SLOT
  const char* (*error_string)(ml::Return) = nullptr;

  std::string path;        // the file that was loaded
  std::string version;     // from its name: the driver's, "580.159.04"
  bool synthetic = false;  // a fake: it exports kSyntheticNvmlMarker
};

// The fake's marker, and the name by which the loader finds the library.
inline constexpr const char* kSyntheticNvmlMarker = "railgauge_synthetic_nvml";
inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";
// Names another file to load instead, such as the fake of kernels/fakes.
inline constexpr const char* kNvmlLibraryVariable = "RAILGAUGE_LIBNVML";

// Fills a table from the library `name`. kNotFound: no driver; kUnimplemented: a function is
// missing.
Result<Nvml> bind_nvml(const std::string& name);
// Returns the process's table, not initialised: NvmlUse does that. Thread safe.
Result<const Nvml*> load_nvml();
// Returns the loaded table; CHECKs that load_nvml() succeeded before.
const Nvml& loaded_nvml();

// Converts a call's result to a Status: "`act`: Not Supported (NVML error 3)". A figure that this
// GPU lacks is kUnimplemented, a missing permission kPermissionDenied.
Status nvml_status(const Nvml& nvml, ml::Return returned, std::string_view act);

// One use of NVML. The handle is a flag: true while NVML is initialised for this user.
struct NvmlUseTraits {
  using Type = bool;
  static Type empty() { return false; }
  static void release(Type) { static_cast<void>(loaded_nvml().shutdown()); }
};
// Keeps NVML initialised while alive; NVML counts its users.
using NvmlUse = Handle<NvmlUseTraits>;
// Loads and initialises NVML. Errors as load_nvml() and nvml_status(). Thread safe.
Result<NvmlUse> use_nvml();

}  // namespace railgauge
