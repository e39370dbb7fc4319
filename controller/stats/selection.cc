#include "controller/stats/selection.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "controller/stats/robust.h"

namespace railgauge::analysis {

double log_choose(double n, double k) {
  int sign = 0;
  return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

double selected_split_p(double z, double n, double least) {
  const double single = 2 * normal_upper_tail(std::abs(z));
  const double edge = std::clamp(least / std::max(n, 1.0), 1e-9, 0.5);
  const double b = std::abs(z);
  if (b < 1.5) return 1;  // the approximation is one of the far tail
  const double density = std::exp(-b * b / 2) / std::sqrt(2 * std::numbers::pi);
  const double odds = (1 - edge) / edge;
  const double p = density * ((b - 1 / b) * 2 * std::log(odds) + 4 / b);
  return std::clamp(p, single, 1.0);
}

double chi_square_upper_tail(double x, double dof) {
  if (!(x > 0)) return 1;
  // Series or continued fraction of the incomplete gamma function, by where each converges.
  const double a = dof / 2;
  const double h = x / 2;
  int sign = 0;
  const double front = std::exp(-h + a * std::log(h) - lgamma_r(a, &sign));
  if (h < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (double k = a + 1; k < a + 1000 && term > sum * 1e-15; ++k) sum += term *= h / k;
    return std::clamp(1 - front * sum, 0.0, 1.0);
  }
  double b = h + 1 - a;
  double c = 1e300;
  double d = 1 / b;
  double fraction = d;
  for (double k = 1; k < 1000; ++k) {
    b += 2;
    const double step = -k * (k - a);
    d = 1 / (step * d + b);
    c = b + step / c;
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return std::clamp(front * fraction, 0.0, 1.0);
}

double fisher_p(double a, double n, double b, double m) {
  const double hits = a + b;
  const double total = log_choose(n + m, hits);
  const auto weight = [&](double k) {
    return std::exp(log_choose(n, k) + log_choose(m, hits - k) - total);
  };
  const double seen = weight(a) * (1 + 1e-9);
  double p = 0;
  for (double k = std::max(0.0, hits - m); k <= std::min(n, hits); ++k)
    if (const double w = weight(k); w <= seen) p += w;
  return std::min(1.0, p);
}

}  // namespace railgauge::analysis
