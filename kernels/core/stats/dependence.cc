// Batch means at every length, the lag-1 correlation of a Gaussian series, and Geyer's sequence.
#include "kernels/core/stats/dependence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace railgauge {
namespace {

// The normal's quantile of a 95 % interval.
constexpr double kNormal = 1.959964;
// Longest lag that is computed; beyond it the series is halved instead.
constexpr std::size_t kMaxLag = 128;
// Shorter series do not show their dependence.
constexpr std::size_t kMinSigns = 16;
// Standard errors below which a correlation counts as none.
constexpr double kNoise = 2;
// Fewest batches whose means give a variance.
constexpr std::size_t kFewestBatches = 8;
// Correlation of batches that is believed at most, so that a variance stays finite.
constexpr double kMostCorrelation = 0.98;
// Standard errors that are added to the series' own lag-1 correlation.
constexpr double kLag1Caution = 0.5;
// The allowance: an interval is wider by this over the root of the count, once for each halving
// that the dependence costs beyond the first.
constexpr double kAllowance = 3;
// A mean's allowance at most: beyond it Student's quantile of few batches makes the width.
constexpr double kMostAllowance = 3;
// Where the powers of a correlation end.
constexpr double kLeastPower = 1e-4;

double sum_of_squares(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

// Sum of products of neighbours.
double neighbours(const std::vector<double>& values) {
  return std::inner_product(values.begin() + 1, values.end(), values.begin(), 0.0);
}

// The series at half its length.
std::vector<double> means_of_pairs(const std::vector<double>& values) {
  std::vector<double> out(values.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (values[2 * i] + values[2 * i + 1]) / 2;
  return out;
}

// --- the likely count ---------------------------------------------------------------------------

// The dependence of a series.
struct Dependence {
  // Integrated autocorrelation time, in steps of the series.
  double time = 1;
  // Whether the correlation died out within kMaxLag.
  bool ended = false;
};

// Autocovariance of a centred series at `lag`, divided by the full length (biased, as Geyer's
// estimate needs it).
double covariance(const std::vector<double>& centred, std::size_t lag) {
  const auto from = centred.begin() + static_cast<std::ptrdiff_t>(lag);
  return std::inner_product(from, centred.end(), centred.begin(), 0.0) /
         static_cast<double>(centred.size());
}

// Sums of two neighbouring autocovariances of a reversible chain are positive and fall, so the
// first that is not above its noise ends them. The first sum holds the variance itself; its lag-1
// part counts where it is above its noise.
Dependence dependence_of(const std::vector<double>& centred, double variance) {
  Dependence out{.time = -1, .ended = false};
  double last = std::numeric_limits<double>::infinity();
  const double noise = kNoise * std::sqrt(2 / static_cast<double>(centred.size()));
  const std::size_t lags = std::min(kMaxLag, centred.size() / 2);
  for (std::size_t lag = 0; lag + 1 < lags; lag += 2) {
    const double even = lag == 0 ? variance : covariance(centred, lag);
    double pair = std::min(last, (even + covariance(centred, lag + 1)) / variance);
    if (lag == 0 && std::abs(pair - 1) <= noise / std::sqrt(2.0)) pair = 1;
    if (pair <= (lag == 0 ? 0 : noise)) {
      out.ended = true;
      break;
    }
    out.time += 2 * pair;
    last = pair;
  }
  return out;
}

// --- the safe count -----------------------------------------------------------------------------

// The 97.5 % quantile of Student's distribution. From three degrees of freedom on by the expansion
// of Abramowitz and Stegun, 26.7.5, within half a percent.
double student_quantile(double degrees) {
  constexpr std::array kFew{12.706, 4.303};
  const double whole = std::floor(degrees);
  if (whole <= 2) return kFew.at(whole < 2 ? 0 : 1);
  const double z = kNormal;
  const double first = (std::pow(z, 3) + z) / 4;
  const double second = (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / 96;
  const double third =
      (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) / 384;
  return z + first / degrees + second / std::pow(degrees, 2) + third / std::pow(degrees, 3);
}

// Half the 95 % interval of the mean of a series, from its values as batch means. Where neighbours
// still correlate beyond their noise, the variance and the degrees of freedom are those of a
// first-order autoregression; the estimate of its correlation is corrected for its bias (Kendall).
double half_width_of(const std::vector<double>& batches) {
  const auto count = static_cast<double>(batches.size());
  const double squares = sum_of_squares(batches);
  if (squares <= 0) return 0;
  double correlation = neighbours(batches) / squares;
  correlation += (1 + 3 * correlation) / count - 1 / std::sqrt(count);
  correlation = std::clamp(correlation, 0.0, kMostCorrelation);
  const double spread = (1 + correlation) / (1 - correlation);
  const double variance = squares / (count - 1) / count * spread;
  return student_quantile(std::max(1.0, (count - 1) / spread)) * std::sqrt(variance);
}

// Integrated autocorrelation time of the signs of a Gaussian autoregression with the signs' lag-1
// correlation r: the values correlate by sin(pi r / 2), and the signs at lag k by
// 2 asin(rho^k) / pi. Lag 1 is known well before the long lags are.
double gaussian_time(const std::vector<double>& signs, double squares) {
  const auto count = static_cast<double>(signs.size());
  double r = neighbours(signs) / squares;
  r += (1 + 3 * std::max(0.0, r)) / count;
  r += kLag1Caution * std::sqrt(std::max(0.0, 1 - r * r) / count);
  const double rho = std::sin(M_PI / 2 * std::clamp(r, 0.0, 0.9999));
  double time = 1;
  for (double power = rho; power > kLeastPower && time < count; power *= rho)
    time += 4 / M_PI * std::asin(power);
  return time;
}

// --- a quantile's count -------------------------------------------------------------------------

// Steps of the tables below, and the share of a lag that a step of lags takes: what is summed is
// smooth.
constexpr std::size_t kSteps = 256;
constexpr double kLagShare = 1.0 / 16;

// The standard normal's q-quantile, by bisection.
double normal_quantile(double q) {
  double from = -40;
  double to = 40;
  for (int i = 0; i < 100; ++i) {
    const double x = (from + to) / 2;
    (std::erfc(-x / std::sqrt(2.0)) / 2 < q ? from : to) = x;
  }
  return (from + to) / 2;
}

// Integrated autocorrelation time of being above its q-quantile z, for a Gaussian autoregression
// with the correlation `rho`. The covariance at lag k is the integral of exp(-z^2 / (1 + sin t)) /
// 2 pi up to asin(rho^k) (Plackett's identity; Biometrika 41, 1954), from a table.
double time_about(double q, double rho) {
  const double top = std::asin(rho);
  if (top <= 0) return 1;
  const double z = normal_quantile(q);
  const double step = top / kSteps;
  std::array<double, kSteps + 1> covariance{};
  for (std::size_t i = 0; i < kSteps; ++i) {
    const double t = (static_cast<double>(i) + 0.5) * step;
    covariance.at(i + 1) =
        covariance.at(i) + step * std::exp(-z * z / (1 + std::sin(t))) / (2 * M_PI);
  }
  double sum = 0;
  for (double lag = 1;;) {
    const double lags = std::max(1.0, std::floor(lag * kLagShare));
    const double power = std::pow(rho, lag + (lags - 1) / 2);
    if (power <= kLeastPower) break;
    const double place = std::asin(power) / step;
    const auto below = std::min(kSteps - 1, static_cast<std::size_t>(place));
    const double part = place - static_cast<double>(below);
    sum += lags * std::lerp(covariance.at(below), covariance.at(below + 1), part);
    lag += lags;
  }
  return 1 + 2 * sum / (q * (1 - q));
}

// The correlation of neighbours in a Gaussian autoregression whose time about the median is `time`.
double correlation_of_time(double time) {
  double from = 0;
  double to = 0.99999;
  for (int i = 0; i < 40; ++i) {
    const double rho = (from + to) / 2;
    (time_about(0.5, rho) < time ? from : to) = rho;
  }
  return from;
}

}  // namespace

std::vector<double> centred_signs(std::span<const double> in_time_order, double level) {
  std::vector<double> signs;
  signs.reserve(in_time_order.size());
  for (const double x : in_time_order)
    signs.push_back(static_cast<double>(x > level) - static_cast<double>(x < level));
  const double mean = std::accumulate(signs.begin(), signs.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(1, signs.size()));
  for (double& sign : signs) sign -= mean;
  return signs;
}

// Where the dependence reaches beyond kMaxLag, means of pairs carry it at half the lag. The
// variance of the whole's mean is the same at every level: time * variance / length.
double likely_count(std::vector<double> centred) {
  const auto n = static_cast<double>(centred.size());
  const bool tells = centred.size() >= kMinSigns;
  const double own_variance = sum_of_squares(centred) / std::max(1.0, n);
  if (own_variance == 0) return n;
  while (centred.size() >= kMinSigns) {
    const auto length = static_cast<double>(centred.size());
    const double variance = sum_of_squares(centred) / length;
    if (variance == 0) return n;  // alternates exactly: no excess of either sign can build up
    const Dependence dependence = dependence_of(centred, variance);
    if (dependence.ended) {
      const double steps = std::max(dependence.time, 1 / length);
      return std::clamp(own_variance * length / (steps * variance), 1.0, n);
    }
    centred = means_of_pairs(centred);
  }
  return tells ? 1.0 : n;
}

double quantile_count(std::span<const double> in_time_order, double median, double level,
                      double q) {
  const auto n = static_cast<double>(in_time_order.size());
  const double likely = likely_count(centred_signs(in_time_order, level));
  const double about_median = likely_count(centred_signs(in_time_order, median));
  if (about_median >= n) return likely;
  return std::min(likely, n / time_about(q, correlation_of_time(n / about_median)));
}

// The longest batches see the slowest movement, the shortest have the surest variance: the widest
// interval of all counts. The stronger the dependence, the surer a narrow interval is a run that
// looks less dependent than it is: so the allowance grows with the dependence.
double safe_count(std::vector<double> centred) {
  const auto n = static_cast<double>(centred.size());
  const double squares = sum_of_squares(centred);
  if (squares <= 0) return n;  // all equal
  if (centred.size() < kFewestBatches) return 0;
  const double variance = squares / n;
  double widest = kNormal * std::sqrt(gaussian_time(centred, squares) * variance / n);
  for (; centred.size() >= kFewestBatches; centred = means_of_pairs(centred))
    widest = std::max(widest, half_width_of(centred));
  const double count = std::min(n, kNormal * kNormal * variance / (widest * widest));
  const double halvings = std::max(1.0, std::log2(n / count));
  const double allowance = 1 + kAllowance * halvings / std::sqrt(count);
  return count / (allowance * allowance);
}

// The allowance of safe_count(), from the first halving on: independent values have none.
double mean_half_width(std::vector<double> centred) {
  if (centred.size() < kFewestBatches) return std::numeric_limits<double>::infinity();
  const auto n = static_cast<double>(centred.size());
  const double variance = sum_of_squares(centred) / n;
  if (variance <= 0) return 0;
  double widest = 0;
  for (; centred.size() >= kFewestBatches; centred = means_of_pairs(centred))
    widest = std::max(widest, half_width_of(centred));
  const double count = std::min(n, kNormal * kNormal * variance / (widest * widest));
  const double halvings = std::max(0.0, std::log2(n / count) - 1);
  return widest * std::min(kMostAllowance, 1 + kAllowance * halvings / std::sqrt(count));
}

}  // namespace railgauge
