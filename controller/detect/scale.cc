#include "controller/detect/scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {
namespace {

constexpr double kLowQuantile = 0.02;
// Logarithms need a low quantile of more than this share of the median.
constexpr double kLowestShare = 0.05;
// Values are quantised when so few of them are different.
constexpr double kFewSteps = 0.25;
// Least floor as a share of the largest value, for series that are mostly zero.
constexpr double kLeastFloor = 1e-7;
// The variance of rounding is resolution^2 / 12.
constexpr double kUniform = 12;

// The smallest distance between different values when few are different, else 0.
// A quantised series repeats its values: the least step between them is the resolution.
double estimate_resolution(std::vector<double> values) {
  std::ranges::sort(values);
  double smallest = std::numeric_limits<double>::infinity();
  std::size_t different = 1;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double step = values[i] - values[i - 1];
    if (step <= 0) continue;
    ++different;
    smallest = std::min(smallest, step);
  }
  const bool few = static_cast<double>(different) <= kFewSteps * static_cast<double>(values.size());
  return few && different > 1 ? smallest : 0;
}

}  // namespace

double Scaled::original(double scaled) const {
  return logarithmic ? std::exp(scaled) : scaled * unit;
}

std::vector<double> Scaled::on_axis(std::size_t runs) const {
  std::vector<double> out(runs, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < values.size(); ++i) out[indices[i]] = values[i];
  return out;
}

Scaled to_scale(std::span<const double> values, double least_noise) {
  Scaled out;
  out.values.reserve(values.size());
  out.indices.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    out.values.push_back(values[i]);
    out.indices.push_back(i);
  }
  if (out.values.empty()) return out;
  const auto [least, most] = std::ranges::minmax(out.values);
  std::vector<double> scratch = out.values;
  // Halves, since the sum of two huge values may not be a number; quantiles are only compared here.
  for (double& v : scratch) v /= 2;
  const double middle = 2 * median_in(scratch);
  out.logarithmic = least > 0 && 2 * quantile_in(scratch, kLowQuantile) > kLowestShare * middle;
  const double rounding = estimate_resolution(out.values) / std::sqrt(kUniform);
  if (out.logarithmic) {
    out.floor = std::max({rounding / middle, least_noise, kLeastFloor});
    for (double& v : out.values) v = std::log(v);
    return out;
  }
  out.unit = std::max(std::abs(least), std::abs(most));
  if (out.unit == 0) out.unit = 1;
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    out.values[i] /= out.unit;
    scratch[i] = std::abs(out.values[i]);
  }
  // The floor of a series about zero is that of its usual distance from zero.
  out.floor = std::max({rounding / out.unit, least_noise * median_in(scratch), kLeastFloor});
  return out;
}

}  // namespace railgauge::analysis
