// Conclusions from a curve over message sizes: where one overtakes another, and where it bends.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace railgauge {

// The times of two ways of doing the same, at one size; all above 0.
struct SizeTimes {
  double bytes = 0;
  double first_ns = 0;
  double second_ns = 0;
};

// Where the second of two ways overtakes the first.
struct Crossover {
  // From here on the second way stays the faster one: between two measured sizes, on straight lines
  // of the logarithms. Absent when one is faster at every size, or the first is at the largest.
  std::optional<double> bytes;
  // Which way is faster at the smallest and at the largest size.
  bool first_faster_at_first = false;
  bool first_faster_at_last = false;
  // How often the faster way changes; above 1 the curves touch or are noisy.
  unsigned changes = 0;
};

// `times` ascend by size; at least one. Equal times count as the first being faster.
Crossover find_crossover(std::span<const SizeTimes> times);

// One size's figure, above 0: a bandwidth or a latency.
struct SizeValue {
  double bytes = 0;
  double value = 0;
};

// How a figure grows with the size. Rising: a bandwidth bound by the cost of each message, or a
// latency bound by the wire. Flat: not at all. Falling: downwards.
enum class Trend : std::uint8_t { kRising, kFlat, kFalling };
std::string_view trend_words(Trend trend);  // "rising", "flat", "falling"

// Where the trend changes: at the measured size between two stretches of the curve, each a straight
// line of the logarithms.
struct Knee {
  double bytes = 0;
  double value = 0;
  Trend before = Trend::kFlat;
  Trend after = Trend::kFlat;
};
// `values` ascend by size. A slope between two trends stays with the one before it, so that a curve
// that bends slowly has one knee and not many.
std::vector<Knee> find_knees(std::span<const SizeValue> values);

}  // namespace railgauge
