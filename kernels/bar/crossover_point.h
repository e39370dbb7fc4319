// Where one curve of times over sizes overtakes another. Pure.
#pragma once

#include <optional>
#include <span>

namespace railgauge::bar {

// Of one size; all above 0.
struct SizeTimes {
  double bytes = 0;
  double bar_ns = 0;
  double memcpy_ns = 0;
};

struct Crossover {
  // From here on cuMemcpy stays the faster one: between two measured sizes, on straight lines of
  // the logarithms. Absent when one is faster at every size, or the BAR is at the largest.
  std::optional<double> bytes;
  bool bar_faster_at_first = false;
  bool bar_faster_at_last = false;
  unsigned changes = 0;  // how often the faster one changes; above 1 the curves touch or are noisy
};

// `times` ascend by size; at least one. Equal times count as the BAR being faster.
Crossover find_crossover(std::span<const SizeTimes> times);

}  // namespace railgauge::bar
