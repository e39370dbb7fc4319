// Shift of one pair of endpoints between two groups of runs. Pure.
#pragma once

#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

#include "controller/stats/metric_traits.h"
#include "kernels/core/base/result.h"

namespace railgauge::analysis {

// Variance of the Hodges-Lehmann shift relative to that of a difference of means.
inline constexpr double kMedianLoss = std::numbers::pi / 3;

// How the runs of a side make one figure.
enum class Centre { kMedian, kMean };

// A shift in logarithms; positive is worse. The interval covers at least 95 %: that of a median by
// order statistics of the pairwise differences (exact Mann-Whitney distribution), that of a mean by
// Student's distribution. Fewer than 4 + 4 runs bound nothing.
struct Shift {
  double log_worsening = 0;
  // -infinity and infinity when the runs are too few to bound the shift.
  double low = 0;
  double high = 0;
  // Variance of one run's logarithm, pooled over both sides; 0 for single runs.
  double run_variance = 0;
  // Variance of log_worsening from the spread of runs alone.
  double run_error2 = 0;
  // Degrees of freedom of run_variance.
  std::size_t run_degrees = 0;
};

// Estimates the shift from `before` to `after`: one figure for each run, a fresh process. A figure
// that is not finite is a missing run. kFailedPrecondition: a side is empty. kInvalidArgument: a
// figure is not positive. Source of the median's: Hodges and Lehmann, Ann. Math. Statist. 34
// (1963). Thread safe.
Result<Shift> shift_of(std::span<const double> before, std::span<const double> after, Better better,
                       Centre centre = Centre::kMedian);

}  // namespace railgauge::analysis
