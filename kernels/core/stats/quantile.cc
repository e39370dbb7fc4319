// Quantiles by partial sorting: linear time on average.
#include "kernels/core/stats/quantile.h"

#include <algorithm>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// nth_element leaves the larger values behind its place, so the next order statistic is their
// minimum.
double quantile_in(std::span<double> scratch, double q) {
  RG_CHECK(!scratch.empty());
  const double place = q * static_cast<double>(scratch.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto at = scratch.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(scratch.begin(), at, scratch.end());
  const double part = place - static_cast<double>(below);
  if (part == 0) return *at;
  return *at + part * (*std::min_element(at + 1, scratch.end()) - *at);
}

double median_in(std::span<double> scratch) { return quantile_in(scratch, 0.5); }

double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return median_in(copy);
}

}  // namespace railgauge
