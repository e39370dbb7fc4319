#include "kernels/bar/crossover_point.h"

#include <cmath>

#include "kernels/core/result.h"

namespace railgauge::bar {
namespace {

bool bar_is_faster(const SizeTimes& times) { return times.bar_ns <= times.memcpy_ns; }

// Logarithm of how much slower the BAR is.
double gap(const SizeTimes& times) { return std::log(times.bar_ns / times.memcpy_ns); }

// `below` has the BAR faster, `above` the copy.
double between(const SizeTimes& below, const SizeTimes& above) {
  const double share = gap(below) / (gap(below) - gap(above));
  return below.bytes * std::pow(above.bytes / below.bytes, share);
}

}  // namespace

Crossover find_crossover(std::span<const SizeTimes> times) {
  RG_CHECK(!times.empty());
  Crossover found;
  found.bar_faster_at_first = bar_is_faster(times.front());
  found.bar_faster_at_last = bar_is_faster(times.back());
  for (std::size_t i = 1; i < times.size(); ++i) {
    const bool before = bar_is_faster(times[i - 1]);
    if (before == bar_is_faster(times[i])) continue;
    ++found.changes;
    // The last one counts: a later change back takes it away.
    found.bytes.reset();
    if (before) found.bytes = between(times[i - 1], times[i]);
  }
  return found;
}

}  // namespace railgauge::bar
