// By how much one pair of endpoints moved between two groups of runs. Pure.
#pragma once

#include <cstddef>
#include <numbers>
#include <span>
#include <vector>

#include "controller/stats/metric_traits.h"
#include "kernels/core/base/result.h"

namespace railgauge::analysis {

// Variance of Hodges and Lehmann's shift over that of a difference of means.
inline constexpr double kMedianLoss = std::numbers::pi / 3;

// Logarithms, positive is worse. The interval holds with 95 % at least, by the order statistics of
// the pairwise differences (Mann and Whitney's distribution, exact); without bounds below 4 + 4.
struct Shift {
  double log_worsening = 0;
  // -infinity and infinity where so few runs bound nothing.
  double low = 0;
  double high = 0;
  // Variance of one run's logarithm, both sides pooled; 0 for single runs.
  double run_variance = 0;
  // Variance of log_worsening from the spread of runs alone.
  double run_error2 = 0;
  // Degrees of freedom of run_variance.
  std::size_t run_degrees = 0;
};

// `before` and `after`: one figure a run (a run is a fresh process). Not finite ones are missing
// runs. Errors: kFailedPrecondition when a side is empty, kInvalidArgument for a figure that is
// not positive.
// Source: Hodges and Lehmann, Ann. Math. Statist. 34 (1963). Thread safe.
Result<Shift> shift_of(std::span<const double> before, std::span<const double> after,
                       Better better);

}  // namespace railgauge::analysis
