#include "controller/stats/robust.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::analysis {
namespace {

constexpr double kMadToSigma = 1.4826;

}  // namespace

double quantile_of(std::span<double> scratch, double q) {
  RG_CHECK(!scratch.empty());
  const double place = q * static_cast<double>(scratch.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto at = scratch.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(scratch.begin(), at, scratch.end());
  const double part = place - static_cast<double>(below);
  if (part == 0) return *at;
  return *at + part * (*std::min_element(at + 1, scratch.end()) - *at);
}

double median_of(std::span<double> scratch) { return quantile_of(scratch, 0.5); }

double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return median_of(copy);
}

double mad_scale(std::span<const double> values, double centre) {
  std::vector<double> away(values.size());
  std::ranges::transform(values, away.begin(), [&](double v) { return std::abs(v - centre); });
  return kMadToSigma * median_of(away);
}

double normal_upper_tail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

double normal_quantile(double p) {
  // Bisection on the tail: exact enough everywhere, and called where speed does not matter.
  double low = -40;
  double high = 40;
  for (int i = 0; i < 80; ++i) {
    const double middle = (low + high) / 2;
    (normal_upper_tail(-middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double hodges_lehmann_shift(std::span<const double> before, std::span<const double> after) {
  RG_CHECK(!before.empty() && !after.empty());
  std::vector<double> differences;
  differences.reserve(before.size() * after.size());
  for (const double a : after)
    for (const double b : before) differences.push_back(a - b);
  return median_of(differences);
}

}  // namespace railgauge::analysis
