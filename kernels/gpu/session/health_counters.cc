// The counters' numbers, which differ between drivers, and the times that they hold.
#include "kernels/gpu/session/health_counters.h"

#include <algorithm>
#include <span>
#include <vector>

namespace railgauge::gpu {
namespace {

// The counters that moved come last, so that both sets of their answers are contiguous.
static_assert(std::ranges::is_sorted(kHeldCounters, {}, &HeldCounter::field));

// Returns the value as a number; absent for an error or for a type that is not a count.
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

constexpr std::size_t kCounters = kHeldCounters.size();

// Whether older drivers have this counter by another number.
bool is_moved(const HeldCounter& counter) { return counter.field >= ml::kFieldHeldByHeatSoftware; }

// Whether these answers can be counters. Counters of ns are unsigned long long. The settings that
// have the same numbers in other drivers are flags and small numbers, or not supported.
bool are_counters(std::span<const ml::FieldValue> values) {
  bool any = false;
  for (const ml::FieldValue& value : values) {
    if (value.returned != ml::kSuccess) continue;
    if (value.type != ml::kTypeUnsignedLongLong) return false;
    any = true;
  }
  return any;
}

// Asks for everything in one query: first all counters, then the moved ones by their older numbers.
std::vector<ml::FieldValue> questions() {
  std::vector<ml::FieldValue> values;
  for (const bool older : {false, true})
    for (const HeldCounter& counter : kHeldCounters) {
      if (older && !is_moved(counter)) continue;
      ml::FieldValue value{};
      value.field = counter.field - (older ? ml::kOlderFieldsBelow : 0);
      value.returned = ml::kUnknown;
      values.push_back(value);
    }
  return values;
}

// Takes the set of numbers that the driver has. Where both sets could be counters, neither is
// believed.
void take_fields(std::span<const ml::FieldValue> answers, HeldTimes& times) {
  const auto older = answers.subspan(kCounters);
  const auto younger = answers.subspan(kCounters - older.size(), older.size());
  const bool is_younger = are_counters(younger);
  const bool is_older = are_counters(older);
  for (std::size_t i = 0; i < kCounters; ++i) {
    if (!is_moved(kHeldCounters[i])) {
      times[i] = number_of(answers[i]);
    } else if (is_younger != is_older) {
      times[i] = number_of(answers[is_younger ? i : i + older.size()]);
    }
  }
}

}  // namespace

// A counter without a field falls back to the violation status, which older drivers have.
HeldTimes read_held_times(const Nvml& nvml, ml::Device device) {
  HeldTimes times;
  if (nvml.device_get_field_values != nullptr) {
    std::vector<ml::FieldValue> values = questions();
    const auto count = static_cast<int>(values.size());
    if (nvml.device_get_field_values(device, count, values.data()) == ml::kSuccess)
      take_fields(values, times);
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

// The counters overlap in time, so the longest one is kept and not their sum.
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
