#include "controller/detect/spikes.h"

#include <algorithm>
#include <cmath>

namespace railgauge::analysis {
namespace {

constexpr std::size_t kWindow = 5;

// By seven comparisons of a sorting network that leaves the middle in place.
double median_of_five(double a, double b, double c, double d, double e) {
  const auto order = [](double& x, double& y) {
    const double low = std::min(x, y);
    y = std::max(x, y);
    x = low;
  };
  order(a, b);
  order(d, e);
  order(a, d);  // a is the least of four: not the median
  order(b, e);  // e is the largest of four
  order(b, c);
  order(c, d);
  order(b, c);
  return c;
}

}  // namespace

std::vector<double> running_median(std::span<const double> values) {
  std::vector<double> out(values.begin(), values.end());
  const std::size_t n = values.size();
  if (n < kWindow) return out;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t begin = std::min(i < 2 ? 0 : i - 2, n - kWindow);
    const double* v = values.data() + begin;
    out[i] = median_of_five(v[0], v[1], v[2], v[3], v[4]);
  }
  return out;
}

Clipped clip_spikes(std::span<const double> values, double limit) {
  Clipped out{.values = {values.begin(), values.end()}, .indices = {}};
  if (values.size() < kWindow) return out;
  const std::vector<double> middle = running_median(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double away = values[i] - middle[i];
    if (std::abs(away) <= limit) continue;
    out.values[i] = middle[i] + std::copysign(limit, away);
    out.indices.push_back(i);
  }
  return out;
}

}  // namespace railgauge::analysis
