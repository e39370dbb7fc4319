// Compares our declarations of NVML with the vendor's nvml.h, at compile time, where it is
// installed; without it that test waives. The message about a missing library is always tested.
#include <gmock/gmock.h>

#include <cstddef>
#include <type_traits>

#include "kernels/dl/nvml.h"

#if __has_include(<nvml.h>)
// Else plain names are macros for the newest form, and the older forms are not declared.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
// The header marks functions that we must call for the sake of older drivers.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <nvml.h>
#define RAILGAUGE_HAS_NVML_H 1
#else
#define RAILGAUGE_HAS_NVML_H 0
#endif

namespace railgauge {
namespace {

using ::testing::HasSubstr;

#if RAILGAUGE_HAS_NVML_H
// Two types that a call passes alike: the same size, and both a pointer, or both an integer (an
// enum is one).
template <class A, class B>
constexpr bool alike() {
  constexpr bool kIntegers =
      (std::is_integral_v<A> || std::is_enum_v<A>)&&(std::is_integral_v<B> || std::is_enum_v<B>);
  return sizeof(A) == sizeof(B) && (kIntegers || (std::is_pointer_v<A> && std::is_pointer_v<B>));
}
template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R1, class... A1, class R2, class... A2>
requires(sizeof...(A1) == sizeof...(A2)) struct SameCall<R1 (*)(A1...), R2 (*)(A2...)>
    : std::bool_constant<alike<R1, R2>() && (alike<A1, A2>() && ...)> {
};
#define RAILGAUGE_SAME(slot, symbol, parameters) \
  static_assert(SameCall<decltype(Nvml::slot), decltype(&::symbol)>::value, #symbol);
RAILGAUGE_NVML_REQUIRED(RAILGAUGE_SAME)
RAILGAUGE_NVML_OPTIONAL(RAILGAUGE_SAME)
#undef RAILGAUGE_SAME
static_assert(SameCall<decltype(Nvml::error_string), decltype(&::nvmlErrorString)>::value);

static_assert(sizeof(ml::Utilization) == sizeof(nvmlUtilization_t));
static_assert(sizeof(ml::Memory) == sizeof(nvmlMemory_t));
static_assert(offsetof(ml::Memory, used_bytes) == offsetof(nvmlMemory_t, used));
static_assert(sizeof(ml::Process) == sizeof(nvmlProcessInfo_v2_t));
static_assert(offsetof(ml::Process, used_bytes) == offsetof(nvmlProcessInfo_v2_t, usedGpuMemory));
static_assert(offsetof(ml::Process, compute_instance) ==
              offsetof(nvmlProcessInfo_v2_t, computeInstanceId));
static_assert(sizeof(nvmlProcessInfo_t) == sizeof(nvmlProcessInfo_v2_t), "what _v3 writes");
static_assert(sizeof(ml::ProcessV1) == sizeof(nvmlProcessInfo_v1_t));
static_assert(offsetof(ml::ProcessV1, used_bytes) == offsetof(nvmlProcessInfo_v1_t, usedGpuMemory));
static_assert(sizeof(ml::Memory) == sizeof(nvmlBAR1Memory_t));
static_assert(offsetof(ml::Memory, used_bytes) == offsetof(nvmlBAR1Memory_t, bar1Used));
static_assert(sizeof(ml::FabricInfo) == sizeof(nvmlGpuFabricInfo_t));
static_assert(offsetof(ml::FabricInfo, status) == offsetof(nvmlGpuFabricInfo_t, status));
static_assert(offsetof(ml::FabricInfo, state) == offsetof(nvmlGpuFabricInfo_t, state));
static_assert(sizeof(ml::FieldValue) == sizeof(nvmlFieldValue_t));
static_assert(offsetof(ml::FieldValue, type) == offsetof(nvmlFieldValue_t, valueType));
static_assert(offsetof(ml::FieldValue, returned) == offsetof(nvmlFieldValue_t, nvmlReturn));
static_assert(offsetof(ml::FieldValue, bits) == offsetof(nvmlFieldValue_t, value));
static_assert(sizeof(ml::ViolationTime) == sizeof(nvmlViolationTime_t));
static_assert(offsetof(ml::ViolationTime, violation_ns) ==
              offsetof(nvmlViolationTime_t, violationTime));
static_assert(sizeof(ml::PciInfo) == sizeof(nvmlPciInfo_t));
static_assert(offsetof(ml::PciInfo, bus_id) == offsetof(nvmlPciInfo_t, busId));

#define RAILGAUGE_NUMBER(ours, theirs) \
  static_assert(static_cast<long long>(ml::ours) == static_cast<long long>(theirs), #theirs)
RAILGAUGE_NUMBER(kSuccess, NVML_SUCCESS);
RAILGAUGE_NUMBER(kUninitialized, NVML_ERROR_UNINITIALIZED);
RAILGAUGE_NUMBER(kInvalidArgument, NVML_ERROR_INVALID_ARGUMENT);
RAILGAUGE_NUMBER(kNotSupported, NVML_ERROR_NOT_SUPPORTED);
RAILGAUGE_NUMBER(kNoPermission, NVML_ERROR_NO_PERMISSION);
RAILGAUGE_NUMBER(kNotFound, NVML_ERROR_NOT_FOUND);
RAILGAUGE_NUMBER(kInsufficientSize, NVML_ERROR_INSUFFICIENT_SIZE);
RAILGAUGE_NUMBER(kDriverNotLoaded, NVML_ERROR_DRIVER_NOT_LOADED);
RAILGAUGE_NUMBER(kGpuIsLost, NVML_ERROR_GPU_IS_LOST);
RAILGAUGE_NUMBER(kVersionMismatch, NVML_ERROR_LIB_RM_VERSION_MISMATCH);
RAILGAUGE_NUMBER(kUnknown, NVML_ERROR_UNKNOWN);
RAILGAUGE_NUMBER(kClockSm, NVML_CLOCK_SM);
RAILGAUGE_NUMBER(kClockMemory, NVML_CLOCK_MEM);
RAILGAUGE_NUMBER(kSensorGpu, NVML_TEMPERATURE_GPU);
RAILGAUGE_NUMBER(kMigOn, NVML_DEVICE_MIG_ENABLE);
RAILGAUGE_NUMBER(kReasonIdle, nvmlClocksEventReasonGpuIdle);
RAILGAUGE_NUMBER(kReasonApplicationClocks, nvmlClocksEventReasonApplicationsClocksSetting);
RAILGAUGE_NUMBER(kReasonPowerCap, nvmlClocksEventReasonSwPowerCap);
RAILGAUGE_NUMBER(kReasonHardwareSlowdown, nvmlClocksThrottleReasonHwSlowdown);
RAILGAUGE_NUMBER(kReasonSyncBoost, nvmlClocksEventReasonSyncBoost);
RAILGAUGE_NUMBER(kReasonThermal, nvmlClocksEventReasonSwThermalSlowdown);
RAILGAUGE_NUMBER(kReasonHardwareThermal, nvmlClocksThrottleReasonHwThermalSlowdown);
RAILGAUGE_NUMBER(kReasonPowerBrake, nvmlClocksThrottleReasonHwPowerBrakeSlowdown);
RAILGAUGE_NUMBER(kReasonDisplayClocks, nvmlClocksEventReasonDisplayClockSetting);
RAILGAUGE_NUMBER(kFieldHeldByPower, NVML_FI_DEV_PERF_POLICY_POWER);
RAILGAUGE_NUMBER(kFieldHeldBySyncBoost, NVML_FI_DEV_PERF_POLICY_SYNC_BOOST);
RAILGAUGE_NUMBER(kTypeUnsigned, NVML_VALUE_TYPE_UNSIGNED_INT);
RAILGAUGE_NUMBER(kTypeUnsignedLong, NVML_VALUE_TYPE_UNSIGNED_LONG);
RAILGAUGE_NUMBER(kTypeUnsignedLongLong, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
RAILGAUGE_NUMBER(kTypeSignedLongLong, NVML_VALUE_TYPE_SIGNED_LONG_LONG);
RAILGAUGE_NUMBER(kPolicyPower, NVML_PERF_POLICY_POWER);
RAILGAUGE_NUMBER(kPolicyThermal, NVML_PERF_POLICY_THERMAL);
RAILGAUGE_NUMBER(kPolicySyncBoost, NVML_PERF_POLICY_SYNC_BOOST);
#ifdef NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN  // younger headers
// For CUDA 13.1 and later, or for earlier headers, which had them lower (nvml.h).
constexpr unsigned kBelow =
    NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN < ml::kFieldHeldByHeatSoftware
        ? ml::kOlderFieldsBelow
        : 0;
static_assert(ml::kFieldHeldByHeatSoftware - kBelow ==
              NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN);
static_assert(ml::kFieldHeldByHeatHardware - kBelow ==
              NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN);
static_assert(ml::kFieldHeldByPowerBrake - kBelow ==
              NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN);
#endif
#undef RAILGAUGE_NUMBER
#endif

TEST(NvmlTable, DeclarationsAreThoseOfTheToolkit) {
  if (!RAILGAUGE_HAS_NVML_H) GTEST_SKIP() << "no nvml.h here: nothing to hold them against";
  SUCCEED() << "checked when this was compiled";
}

TEST(NvmlTable, SaysWhereTheLibraryComesFromWhenItIsAbsent) {
  const auto nvml = bind_nvml("libnvidia-ml-absent.so.1");
  ASSERT_FALSE(nvml);
  EXPECT_EQ(nvml.error().code, Code::kNotFound);
  EXPECT_THAT(nvml.error().message, HasSubstr("it comes with the NVIDIA driver"));
}

TEST(NvmlTable, NamesTheFunctionThatAnotherLibraryLacks) {
  const auto nvml = bind_nvml("libm.so.6");
  ASSERT_FALSE(nvml);
  EXPECT_EQ(nvml.error().code, Code::kUnimplemented);
  EXPECT_THAT(nvml.error().message, HasSubstr("nvmlInit_v2"));
}

}  // namespace
}  // namespace railgauge
