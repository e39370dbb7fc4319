// The typical ratio of two programs measured in turn (A B A B ...): the Hodges-Lehmann estimate on
// the logarithms of the pairwise ratios, with the exact Wilcoxon signed-rank interval. Pairing
// removes the drift of the machine. The only assumption on the distribution is symmetry of the log
// ratios, which taking turns gives. Source: Hollander, Wolfe, Chicken, Nonparametric Statistical
// Methods, 3rd ed., 3.2 and 3.3.
#pragma once

#include <span>

#include "kernels/core/base/result.h"

namespace railgauge {

// The typical ratio a/b with its interval.
struct PairedRatio {
  double ratio = 1;
  // Ends of the interval; its exact confidence is `confidence` (at least 0.95).
  double low = 1;
  double high = 1;
  double confidence = 0;
  // Reports whether the interval contains `value`.
  [[nodiscard]] bool holds(double value) const { return low <= value && value <= high; }
};

// Estimates the ratio. `a` and `b` have equal lengths, one positive figure a launch.
// kFailedPrecondition below 6 pairs, too few for a 95 % interval; kInvalidArgument for unequal
// lengths or a figure that is not positive. Pure.
Result<PairedRatio> paired_ratio(std::span<const double> a, std::span<const double> b);

}  // namespace railgauge
