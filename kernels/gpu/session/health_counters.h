// The time for which a GPU's clocks were held down, by counters of NVML. A reading shows the
// reasons of its instant; a counter misses nothing between two readings.
#pragma once

#include <array>
#include <optional>

#include "kernels/dl/nvml.h"

namespace railgauge::gpu {

// A throttle reason that has a counter. NVML's further counters (reliability, low utilisation, the
// board's limit) are omitted: they also count a GPU at its highest clock or idle, and NVML reports
// none of them as a reason.
struct HeldCounter {
  unsigned long long reason;
  unsigned field;             // of nvmlDeviceGetFieldValues; some were lower in older drivers
  std::optional<int> policy;  // of nvmlDeviceGetViolationStatus, which older drivers have
};
inline constexpr std::array kHeldCounters{
    HeldCounter{ml::kReasonPowerCap, ml::kFieldHeldByPower, ml::kPolicyPower},
    HeldCounter{ml::kReasonSyncBoost, ml::kFieldHeldBySyncBoost, ml::kPolicySyncBoost},
    HeldCounter{ml::kReasonThermal, ml::kFieldHeldByHeatSoftware, ml::kPolicyThermal},
    HeldCounter{ml::kReasonHardwareThermal, ml::kFieldHeldByHeatHardware, std::nullopt},
    HeldCounter{ml::kReasonPowerBrake, ml::kFieldHeldByPowerBrake, std::nullopt}};

// Each counter's time in ns since the driver was loaded; absent where NVML does not report it.
using HeldTimes = std::array<std::optional<unsigned long long>, kHeldCounters.size()>;
// Reads all counters of one GPU. Never fails: a missing function or counter leaves its times
// absent.
HeldTimes read_held_times(const Nvml& nvml, ml::Device device);

// Duration and reasons for which the clocks were held down.
struct Held {
  bool known = false;              // at least one counter was read at both ends
  unsigned long long reasons = 0;  // of the counters that grew
  double longest_ns = 0;           // by one of them; reasons may hold at once
};
// Returns the growth between two readings. A counter that fell is ignored: the driver was reloaded.
// Pure.
Held held_between(const HeldTimes& before, const HeldTimes& after);

}  // namespace railgauge::gpu
