// Crossings and knees on straight lines between the logarithms of neighbouring points.
#include "kernels/core/stats/size_curve.h"

#include <cmath>

#include "kernels/core/base/result.h"

namespace railgauge {
namespace {

// Equal times count as the first being faster.
bool first_is_faster(const SizeTimes& times) { return times.first_ns <= times.second_ns; }

// Logarithm of how much slower the first is; 0 where both are equal.
double gap(const SizeTimes& times) { return std::log(times.first_ns / times.second_ns); }

// The size where the gap is 0, between a size where the first is faster and one where the second
// is.
double between(const SizeTimes& below, const SizeTimes& above) {
  const double share = gap(below) / (gap(below) - gap(above));
  return below.bytes * std::pow(above.bytes / below.bytes, share);
}

// Slope of the logarithms from which a figure rises; 1 is "twice the size, twice the value".
constexpr double kRises = 0.5;
// Distance beyond a bound at which a slope leaves the previous trend.
constexpr double kMargin = 0.1;

// The slope of the logarithms between two points.
double slope(const SizeValue& a, const SizeValue& b) {
  return std::log(b.value / a.value) / std::log(b.bytes / a.bytes);
}

Trend trend_of(double slope) {
  if (slope > kRises) return Trend::kRising;
  return slope < -kRises ? Trend::kFalling : Trend::kFlat;
}

// Whether `slope` still belongs to `trend`: the bounds have a margin in the trend's favour.
bool stays(Trend trend, double slope) {
  switch (trend) {
    case Trend::kRising:
      return slope > kRises - kMargin;
    case Trend::kFalling:
      return slope < -kRises + kMargin;
    case Trend::kFlat:
      break;
  }
  return std::abs(slope) < kRises + kMargin;
}

}  // namespace

// Only the last change counts: a later change back removes an earlier crossing.
Crossover find_crossover(std::span<const SizeTimes> times) {
  RG_CHECK(!times.empty());
  Crossover found;
  found.first_faster_at_first = first_is_faster(times.front());
  found.first_faster_at_last = first_is_faster(times.back());
  for (std::size_t i = 1; i < times.size(); ++i) {
    const bool before = first_is_faster(times[i - 1]);
    if (before == first_is_faster(times[i])) continue;
    ++found.changes;
    // The last one counts: a later change back takes it away.
    found.bytes.reset();
    if (before) found.bytes = between(times[i - 1], times[i]);
  }
  return found;
}

std::string_view trend_words(Trend trend) {
  switch (trend) {
    case Trend::kRising:
      return "rising";
    case Trend::kFalling:
      return "falling";
    case Trend::kFlat:
      break;
  }
  return "flat";
}

// Two points have one slope, so a knee needs three.
std::vector<Knee> find_knees(std::span<const SizeValue> values) {
  std::vector<Knee> knees;
  if (values.size() < 3) return knees;
  Trend trend = trend_of(slope(values[0], values[1]));
  for (std::size_t i = 1; i + 1 < values.size(); ++i) {
    const double after = slope(values[i], values[i + 1]);
    if (stays(trend, after)) continue;
    const Trend next = trend_of(after);
    knees.push_back({values[i].bytes, values[i].value, trend, next});
    trend = next;
  }
  return knees;
}

}  // namespace railgauge
