// Conclusions from a curve over message sizes: where one curve overtakes another, and where a curve
// bends. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace railgauge {

// Times of two ways to do the same work at one size; all above 0.
struct SizeTimes {
  double bytes = 0;
  double first_ns = 0;
  double second_ns = 0;
};

// The size at which the second of two ways overtakes the first.
struct Crossover {
  // From this size on the second way stays faster. Interpolated between two measured sizes, on
  // straight lines of the logarithms. Absent when one way is faster at every size, or the first way
  // is faster at the largest.
  std::optional<double> bytes;
  // Which way is faster at the smallest and at the largest size.
  bool first_faster_at_first = false;
  bool first_faster_at_last = false;
  // Number of changes of the faster way; above 1 the curves touch or are noisy.
  unsigned changes = 0;
};

// Finds the crossover. `times` has at least one entry and ascends by size. For equal times the
// first way counts as faster.
Crossover find_crossover(std::span<const SizeTimes> times);

// One size's figure, above 0: a bandwidth or a latency.
struct SizeValue {
  double bytes = 0;
  double value = 0;
};

// The growth of a figure with the size. Rising: a bandwidth bound by the cost of each message, or a
// latency bound by the wire. Flat: no change.
enum class Trend : std::uint8_t { kRising, kFlat, kFalling };
std::string_view trend_words(Trend trend);  // "rising", "flat", "falling"

// A change of trend: the measured size between two stretches of the curve, each a straight line of
// the logarithms.
struct Knee {
  double bytes = 0;
  double value = 0;
  Trend before = Trend::kFlat;
  Trend after = Trend::kFlat;
};
// Finds the knees. `values` ascend by size. A slope between two trends keeps the previous trend, so
// that a slow bend is one knee and not many.
std::vector<Knee> find_knees(std::span<const SizeValue> values);

}  // namespace railgauge
