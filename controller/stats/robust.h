// Order statistics and normal tails that the judge's files share. Pure; thread safe.
#pragma once

#include <span>

namespace railgauge::analysis {

// Median and quantile (linear between order statistics, q in [0, 1]) of `scratch`, which they
// reorder. Not empty.
double median_of(std::span<double> scratch);
double quantile_of(std::span<double> scratch, double q);

// The same of a copy.
double median(std::span<const double> values);

// Median absolute deviation about `centre`, times 1.4826: the standard deviation of normal noise.
double mad_scale(std::span<const double> values, double centre);

// P(Z > z) of a standard normal, and its inverse for p in (0, 1).
double normal_upper_tail(double z);
double normal_quantile(double p);

// Hodges and Lehmann's shift: the median of all differences after - before. Neither is empty.
double hodges_lehmann_shift(std::span<const double> before, std::span<const double> after);

}  // namespace railgauge::analysis
