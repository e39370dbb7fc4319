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

// Everything that a judge must know of a metric. A plain value without a unit conversion.
struct MetricTraits {
  // Unit as points have it: "ns", "bytes_per_second".
  std::string unit;
  Better better = Better::kLower;
  // Practical bound: the fraction by which worse matters.
  double delta = 0.02;
};

// Traits by the point's unit, whether larger is better, and the statistic ("median", "p99",
// "p99.9"). The bound: bandwidth and message rate 1 %, median latency 2 %, p99 5 %, p99.9 10 %.
MetricTraits traits_of(std::string_view unit, bool larger_is_better, std::string_view statistic);

// Bounds that a suite states for itself, by statistic or "rate" for what counts per second; the
// rest stays. Errors: kInvalidArgument for an unknown key or a bound outside (0, 1).
Status override_deltas(const std::map<std::string, double>& deltas, std::string_view statistic,
                       MetricTraits& traits);

// How much worse `after` is than `before` as a fraction of `before`, from the logarithm of
// worsening (positive is worse), and back.
double worse_fraction(Better better, double log_worsening);
double log_worsening(Better better, double fraction);

// ln(after / before) with the sign that makes worse positive.
double oriented(Better better, double log_ratio);

}  // namespace railgauge::analysis
