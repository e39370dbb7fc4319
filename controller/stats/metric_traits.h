// The meaning of a metric's figures to a judge: the worse direction, and the change that matters.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::analysis {

// The direction in which a figure improves: rates higher, times lower.
enum class Better { kHigher, kLower };

// The properties of a metric that a judge uses. A plain value; units are not converted.
struct MetricTraits {
  // Unit as points have it: "ns", "bytes_per_second".
  std::string unit;
  Better better = Better::kLower;
  // Practical bound: the fraction by which worse matters.
  double delta = 0.02;
};

// Statistics of a rate: all that moved over all time, and the share of time outside of pauses.
// Beside them are "p10" and "p1", low percentiles of the rate in its slots.
inline constexpr std::string_view kRateStatistic = "rate";
inline constexpr std::string_view kFlowStatistic = "flow";

// Reports whether figures in this unit are rates. Units are the words of the point's schema; all
// rates end alike.
bool is_rate(std::string_view unit);

// Returns the traits by the point's unit, its better direction and the statistic; "" and "median"
// are the level of the metric, which is its rate where it has one. Bounds: rate and flow 1 %, low
// slots 5 % (p10) and 10 % (p1); of a latency the median and p90 2 %, p99 5 %, p99.9 10 %.
MetricTraits traits_of(std::string_view unit, bool larger_is_better, std::string_view statistic);

// Applies a suite's own bounds, by statistic; other bounds stay. kInvalidArgument: an unknown key,
// or a bound outside (0, 1).
Status override_deltas(const std::map<std::string, double>& deltas, std::string_view statistic,
                       MetricTraits& traits);

// Convert between the loss as a fraction of `before` and the logarithm of worsening (positive is
// worse).
double worse_fraction(Better better, double log_worsening);
double log_worsening(Better better, double fraction);

// Returns `log_ratio`, ln(after / before), with the sign that makes worse positive.
double oriented(Better better, double log_ratio);

}  // namespace railgauge::analysis
