// Quantiles of values without an order. Pure; thread safe.
#pragma once

#include <span>

namespace railgauge {

// The q-quantile, q in [0, 1], by linear interpolation between order statistics (Hyndman and Fan's
// type 7). Reorders `scratch`, which is not empty: a programmer error ends the process.
double quantile_in(std::span<double> scratch, double q);

// The median of `scratch`, which is reordered and not empty.
double median_in(std::span<double> scratch);

// The median of a copy of `values`, which is not empty.
double median(std::span<const double> values);

}  // namespace railgauge
