// Quantiles of unsorted values. Pure; thread safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace railgauge {

// Returns the q-quantile, q in [0, 1], by linear interpolation between order statistics (Hyndman
// and Fan's type 7). Reorders `scratch`; CHECKs that it is not empty.
double quantile_in(std::span<double> scratch, double q);

// Returns the median of `scratch`, which is reordered and not empty.
double median_in(std::span<double> scratch);

// Returns the median of a copy of `values`, which is not empty.
double median(std::span<const double> values);

// Returns one of the values: the median, or the upper of the middle two for an even count. 0 for
// none.
template <class Number = double>
Number upper_median(std::vector<Number> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace railgauge
