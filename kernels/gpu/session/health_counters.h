// For how long a GPU's clocks were held down, by counters that NVML keeps. A reading sees what
// holds them at its instant; a counter misses nothing between two looks.
#pragma once

#include <array>
#include <optional>

#include "kernels/dl/nvml.h"

namespace railgauge::gpu {

// One for each throttle reason that has a counter. There are more counters than these (reliability,
// low utilisation, the board's limit): those also count the state of a GPU at its highest clock or
// idle, and none of them is a reason that NVML reports.
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

// Each counter's time since the driver was loaded, in ns; nothing where NVML does not report it.
using HeldTimes = std::array<std::optional<unsigned long long>, kHeldCounters.size()>;
// Never fails: a driver that lacks a function or a counter leaves its times empty.
HeldTimes read_held_times(const Nvml& nvml, ml::Device device);

struct Held {
  bool known = false;              // at least one counter was read at both ends
  unsigned long long reasons = 0;  // of the counters that grew
  double longest_ns = 0;           // by one of them; reasons may hold at once
};
// Between two looks. A counter that fell (the driver was loaded anew) says nothing. Pure.
Held held_between(const HeldTimes& before, const HeldTimes& after);

}  // namespace railgauge::gpu
