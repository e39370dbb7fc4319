// Changes of a series' spread. Pure.
#pragma once

#include <span>
#include <vector>

#include "controller/stats/noise.h"

namespace railgauge::analysis {

// One place where the scatter of a series changes, not its level.
struct SpreadChange {
  // First run with the new spread.
  std::size_t index = 0;
  // Standard deviations on both sides, estimated from mean absolute residuals.
  double before = 0;
  double after = 0;
  // Chance of the best split of a series with one spread.
  double p = 1;
};

// Places where the spread of `residuals` (about their level) more than doubles or halves: found as
// the best split of the absolute residuals, shown by Fligner and Killeen's test. By index.
std::vector<SpreadChange> find_spread_changes(std::span<const double> residuals,
                                              const Noise& noise);

// Fligner and Killeen's p that two groups have the same spread (normal scores of the absolute
// residuals' ranks).
double fligner_killeen_p(std::span<const double> before, std::span<const double> after);

}  // namespace railgauge::analysis
