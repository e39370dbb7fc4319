#include "controller/stats/distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/hypergeometric.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace railgauge::analysis {
namespace {

// Deviations; a double's chance beyond them is 0.
constexpr double kFarthest = 40;
// Relative: likelihoods that differ by rounding are the same.
constexpr double kRelativeTie = 1e-9;

}  // namespace

double normal_upper_tail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

// Boost reports 0 and 1 as overflow errors, so these ends are handled here.
double normal_quantile(double p) {
  if (!(p > 0)) return -kFarthest;
  if (p >= 1) return kFarthest;
  return boost::math::quantile(boost::math::normal(), p);
}

double student_upper_tail(double t, double dof) {
  return boost::math::cdf(boost::math::complement(boost::math::students_t(dof), t));
}

double student_quantile(double p, double dof) {
  return boost::math::quantile(boost::math::students_t(dof), p);
}

double chi_square_upper_tail(double x, double dof) {
  if (!(x > 0)) return 1;
  // Boost refuses an infinite value as a domain error.
  if (std::isinf(x)) return 0;
  return boost::math::cdf(boost::math::complement(boost::math::chi_squared(dof), x));
}

double fisher_p(double a, double n, double b, double m) {
  const double hits = a + b;
  const boost::math::hypergeometric tables(static_cast<unsigned>(hits), static_cast<unsigned>(n),
                                           static_cast<unsigned>(n + m));
  const double seen = boost::math::pdf(tables, a);
  const double most = seen * (1 + kRelativeTie);
  // Neighbouring tables' likelihoods follow from each other, which costs no logarithm a table.
  // The observed table counts once; the loops visit its neighbours downwards and upwards.
  double p = seen;
  double weight = seen;
  for (double k = a; k > std::max(0.0, hits - m); --k) {
    weight *= k * (m - hits + k) / ((n - k + 1) * (hits - k + 1));
    if (weight <= most) p += weight;
  }
  weight = seen;
  for (double k = a; k < std::min(n, hits); ++k) {
    weight *= (n - k) * (hits - k) / ((k + 1) * (m - hits + k + 1));
    if (weight <= most) p += weight;
  }
  return std::min(1.0, p);
}

double hypergeometric_upper_tail(std::size_t k, std::size_t drawn, std::size_t marked,
                                 std::size_t all) {
  if (k == 0) return 1;
  if (k > std::min(drawn, marked)) return 0;
  // Boost refuses a number below the least possible one, where the tail is certain.
  if (drawn + marked > all && k <= drawn + marked - all) return 1;
  const boost::math::hypergeometric counts(
      static_cast<unsigned>(marked), static_cast<unsigned>(drawn), static_cast<unsigned>(all));
  return std::min(1.0, boost::math::cdf(boost::math::complement(counts, k - 1)));
}

double selected_split_p(double z, double n, double least) {
  const double single = 2 * normal_upper_tail(std::abs(z));
  const double edge = std::clamp(least / std::max(n, 1.0), 1e-9, 0.5);
  const double b = std::abs(z);
  // The approximation is one of the far tail.
  if (b < 1.5) return 1;
  const double density = std::exp(-b * b / 2) / std::sqrt(2 * std::numbers::pi);
  const double odds = (1 - edge) / edge;
  const double p = density * ((b - 1 / b) * 2 * std::log(odds) + 4 / b);
  return std::clamp(p, single, 1.0);
}

}  // namespace railgauge::analysis
