#include "kernels/gpu/health_counters.h"

#include <algorithm>

namespace railgauge::gpu {
namespace {

std::optional<unsigned long long> number_of(const ml::FieldValue& value) {
  if (value.returned != ml::kSuccess) return std::nullopt;
  switch (value.type) {
    case ml::kTypeUnsigned:
      return value.bits & 0xffffffffU;
    case ml::kTypeUnsignedLong:
    case ml::kTypeUnsignedLongLong:
    case ml::kTypeSignedLongLong:
      return value.bits;
    default:
      return std::nullopt;
  }
}

}  // namespace

HeldTimes read_held_times(const Nvml& nvml, ml::Device device) {
  HeldTimes times;
  if (nvml.device_get_field_values != nullptr) {
    std::array<ml::FieldValue, kHeldCounters.size()> values{};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i].field = kHeldCounters[i].field;
      values[i].returned = ml::kUnknown;
    }
    const auto count = static_cast<int>(values.size());
    if (nvml.device_get_field_values(device, count, values.data()) == ml::kSuccess)
      std::ranges::transform(values, times.begin(), number_of);
  }
  if (nvml.device_get_violation_status == nullptr) return times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] || !kHeldCounters[i].policy) continue;
    ml::ViolationTime violation{};
    if (nvml.device_get_violation_status(device, *kHeldCounters[i].policy, &violation) ==
        ml::kSuccess)
      times[i] = violation.violation_ns;
  }
  return times;
}

Held held_between(const HeldTimes& before, const HeldTimes& after) {
  Held held;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!before[i] || !after[i]) continue;
    held.known = true;
    if (*after[i] <= *before[i]) continue;
    held.reasons |= kHeldCounters[i].reason;
    held.longest_ns = std::max(held.longest_ns, static_cast<double>(*after[i] - *before[i]));
  }
  return held;
}

}  // namespace railgauge::gpu
