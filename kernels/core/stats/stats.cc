// The median's interval, the samples' dependence, and the buckets of a histogram.
#include "kernels/core/stats/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/core/base/result.h"

namespace railgauge {
namespace {

// Probability outside each rank: 95 % are between the two.
constexpr double kMissEachSide = 0.025;
// The least count with an interval: 1 - 2 / 2^6 is the first coverage above 95 %.
constexpr double kMinEffective = 6;
// Confidence with which the largest sample bounds a percentile.
constexpr double kPercentileConfidence = 0.99;
// Share of a sum of probabilities that a term may be left out for.
constexpr double kNegligible = 1e-17;
// Longest lag that is computed; beyond it the sign series is halved instead.
constexpr std::size_t kMaxLag = 128;
// Shorter series do not show their dependence.
constexpr std::size_t kMinSigns = 16;
// Values below share the bucket of 0.
constexpr double kNothing = 1e-290;
// Squares of samples below this stay finite.
constexpr double kHugest = 1e150;
// Decimals after a bucket's first digit.
constexpr double kBucketDigits = 2;

// --- the median's ranks -------------------------------------------------------------------------

// P(binomial(n, 1/2) = k), through logarithms: 2^-n underflows from n = 1075 on.
double half_binomial(double n, double k) {
  int sign = 0;
  return std::exp(lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign) -
                  n * std::log(2.0));
}

// P(binomial(n, 1/2) <= k), summed from its largest term down.
double half_binomial_cdf(double n, double k) {
  double term = half_binomial(n, k);
  double sum = 0;
  for (double i = k; i >= 0 && term > kNegligible * sum; --i) {
    sum += term;
    term *= i / (n - i + 1);
  }
  return sum;
}

// The largest rank l (from 1) for which [x(l), x(n + 1 - l)] contains the median with 95 %. Begins
// at the normal approximation and corrects it.
double lower_rank(double n) {
  double rank = std::max(1.0, std::floor(n / 2 - 0.98 * std::sqrt(n)));  // the normal's guess
  while (rank > 1 && half_binomial_cdf(n, rank - 1) > kMissEachSide) --rank;
  while (half_binomial_cdf(n, rank) <= kMissEachSide) ++rank;
  return rank;
}

// Index (from 0) of the interval's lower end among n sorted samples; the upper end is as far from
// the last. Dependent samples take the rank of their effective number, scaled to n.
std::optional<std::size_t> interval_index(double n, double effective_n) {
  const double effective = std::floor(std::min(effective_n, n));
  if (!(effective >= kMinEffective)) return std::nullopt;
  double rank = lower_rank(effective);
  if (effective < n) rank = std::max(1.0, std::floor(rank * (n + 1) / (effective + 1)));
  return static_cast<std::size_t>(rank) - 1;
}

// --- dependence ---------------------------------------------------------------------------------

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

// Geyer's initial monotone positive sequence: sums of two neighbouring autocovariances of a
// reversible chain are positive and fall, so the first that is not is noise.
Dependence dependence_of(const std::vector<double>& centred, double variance) {
  Dependence out{.time = -1, .ended = false};
  double last = std::numeric_limits<double>::infinity();
  const std::size_t lags = std::min(kMaxLag, centred.size() / 2);
  for (std::size_t lag = 0; lag + 1 < lags; lag += 2) {
    const double even = lag == 0 ? variance : covariance(centred, lag);
    const double pair = std::min(last, (even + covariance(centred, lag + 1)) / variance);
    if (pair <= 0) {
      out.ended = true;
      break;
    }
    out.time += 2 * pair;
    last = pair;
  }
  return out;
}

double sum_of_squares(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

// The series at half its length.
std::vector<double> means_of_pairs(const std::vector<double>& values) {
  std::vector<double> out(values.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (values[2 * i] + values[2 * i + 1]) / 2;
  return out;
}

// -1, 0, 1 for each sample about the median, less their mean. The median's own error is made of
// these signs.
std::vector<double> centred_signs(std::span<const double> in_time_order, double median) {
  std::vector<double> signs;
  signs.reserve(in_time_order.size());
  for (const double x : in_time_order)
    signs.push_back(static_cast<double>(x > median) - static_cast<double>(x < median));
  const double mean =
      std::accumulate(signs.begin(), signs.end(), 0.0) / static_cast<double>(signs.size());
  for (double& sign : signs) sign -= mean;
  return signs;
}

// The number of independent samples with the same error of the median. Where the dependence reaches
// beyond kMaxLag, means of pairs carry it at half the lag. The variance of the whole's mean is the
// same at every level: time * variance / length.
double effective_count_about(std::span<const double> in_time_order, double median) {
  const auto n = static_cast<double>(in_time_order.size());
  std::vector<double> series = centred_signs(in_time_order, median);
  const double sign_variance = sum_of_squares(series) / n;
  if (sign_variance == 0) return n;
  // Where the dependence reaches beyond kMaxLag, means of pairs carry it at half the lag. The
  // variance of the whole's mean is the same at every level: time * variance / length.
  while (series.size() >= kMinSigns) {
    const auto length = static_cast<double>(series.size());
    const double variance = sum_of_squares(series) / length;
    if (variance == 0) return n;  // alternates exactly: no excess of either sign can build up
    const Dependence dependence = dependence_of(series, variance);
    if (dependence.ended) {
      const double steps = std::max(dependence.time, 1 / length);
      return std::clamp(sign_variance * length / (steps * variance), 1.0, n);
    }
    series = means_of_pairs(series);
  }
  return in_time_order.size() < kMinSigns ? n : 1.0;
}

// --- buckets ------------------------------------------------------------------------------------

// A half-open range [lower, upper).
struct Bucket {
  double lower = 0;
  double upper = 0;
};

// The three-digit bucket of `value`. Bounds are quotients of integers, hence the doubles nearest to
// the decimals that they print as.
Bucket bucket_of(double value) {
  if (std::abs(value) < kNothing) return value < 0 ? Bucket{-kNothing, 0} : Bucket{0, kNothing};
  const double digits = kBucketDigits - std::floor(std::log10(std::abs(value)));
  const double scale = std::pow(10.0, std::abs(digits));
  const auto bound = [&](double index) { return digits >= 0 ? index / scale : index * scale; };
  double index = std::floor(digits >= 0 ? value * scale : value / scale);
  while (bound(index) > value) --index;
  while (bound(index + 1) <= value) ++index;
  return {bound(index), bound(index + 1)};
}

// One pass over sorted samples; empty buckets are left out.
Histogram histogram_sorted(std::span<const double> sorted) {
  Histogram out;
  for (std::size_t i = 0; i < sorted.size();) {
    const Bucket bucket = bucket_of(sorted[i]);
    const std::size_t begin = i;
    while (i < sorted.size() && (i == begin || sorted[i] < bucket.upper)) ++i;
    out.add_lower_bound(bucket.lower);
    out.add_count(static_cast<double>(i - begin));
  }
  return out;
}

std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  return sorted;
}

// The mean, computed about the first sample so that equal samples have exactly no spread.
double mean_of(std::span<const double> samples) {
  const double origin = samples.front();
  double sum = 0;
  for (const double x : samples) sum += x - origin;
  return origin + sum / static_cast<double>(samples.size());
}

// Mean and standard deviation (n - 1); one sample has no deviation.
void set_spread(std::span<const double> samples, Point& point) {
  const double mean = mean_of(samples);
  point.set_mean(mean);
  if (samples.size() < 2) return;
  double squares = 0;
  for (const double x : samples) squares += (x - mean) * (x - mean);
  point.set_stddev(std::sqrt(squares / static_cast<double>(samples.size() - 1)));
}

// Sets the percentiles that the samples can bound; a low percentile needs its bound from below.
void set_percentiles(std::span<const double> sorted, Point& point) {
  // A low percentile needs its bound from below.
  const auto bounded = [&](double q) {
    return sorted.size() >= samples_needed(std::max(q, 1 - q));
  };
  if (bounded(0.25)) point.set_p25(quantile_sorted(sorted, 0.25));
  if (bounded(0.75)) point.set_p75(quantile_sorted(sorted, 0.75));
  if (bounded(0.9)) point.set_p90(quantile_sorted(sorted, 0.9));
  if (bounded(0.99)) point.set_p99(quantile_sorted(sorted, 0.99));
  if (bounded(0.999)) point.set_p999(quantile_sorted(sorted, 0.999));
}

}  // namespace

double quantile_sorted(std::span<const double> sorted, double q) {
  RG_CHECK(!sorted.empty() && q >= 0 && q <= 1);
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - static_cast<double>(below);
  if (weight == 0) return sorted[below];
  return std::lerp(sorted[below], sorted[above], weight);
}

std::optional<Interval> median_interval_sorted(std::span<const double> sorted, double effective_n) {
  const auto low = interval_index(static_cast<double>(sorted.size()), effective_n);
  if (!low) return std::nullopt;
  return Interval{sorted[*low], sorted[sorted.size() - 1 - *low]};
}

// The small term undoes the rounding of the quotient where it is whole.
std::uint64_t samples_needed(double q) {
  RG_CHECK(q > 0 && q < 1);
  return static_cast<std::uint64_t>(
      std::ceil(std::log(1 - kPercentileConfidence) / std::log(q) - 1e-9));
}

// An infinite variance would make the quotient NaN; 0 is returned then.
double lag1_autocorrelation(std::span<const double> in_time_order) {
  if (in_time_order.size() < 2) return 0;
  const double mean = mean_of(in_time_order);
  double variance = 0;
  double shifted = 0;
  for (std::size_t i = 0; i < in_time_order.size(); ++i) {
    const double here = in_time_order[i] - mean;
    variance += here * here;
    if (i > 0) shifted += here * (in_time_order[i - 1] - mean);
  }
  return variance > 0 && std::isfinite(variance) ? shifted / variance : 0;
}

double effective_sample_count(std::span<const double> in_time_order) {
  return in_time_order.empty() ? 0 : estimate_median(in_time_order).effective_count;
}

// Three partial sorts instead of a full one: the sampler calls this between batches.
MedianEstimate estimate_median(std::span<const double> in_time_order) {
  RG_CHECK(!in_time_order.empty());
  std::vector<double> values(in_time_order.begin(), in_time_order.end());
  const auto at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t n = values.size();
  std::nth_element(values.begin(), at(n / 2), values.end());
  const double upper = *at(n / 2);
  const double lower = n % 2 == 1 ? upper : *std::max_element(values.begin(), at(n / 2));
  MedianEstimate out{.median = std::lerp(lower, upper, 0.5), .effective_count = 0, .interval = {}};
  out.effective_count = effective_count_about(in_time_order, out.median);
  const auto low = interval_index(static_cast<double>(n), out.effective_count);
  if (!low) return out;
  // Each end is in its own half: low < n / 2 <= n - 1 - low.
  std::nth_element(values.begin(), at(*low), at(n / 2));
  const double low_end = *at(*low);
  std::nth_element(at(n / 2), at(n - 1 - *low), values.end());
  out.interval = Interval{low_end, *at(n - 1 - *low)};
  return out;
}

std::optional<double> relative_half_width(std::span<const double> in_time_order) {
  const MedianEstimate estimate = estimate_median(in_time_order);
  if (!estimate.interval || estimate.median == 0) return std::nullopt;
  return (estimate.interval->high - estimate.interval->low) / 2 / std::abs(estimate.median);
}

Histogram histogram_of(std::span<const double> samples) {
  return histogram_sorted(sorted_copy(samples));
}

double rate_over_all_time(std::span<const double> rates) {
  double time = 0;
  for (const double rate : rates) time += 1 / rate;
  return static_cast<double>(rates.size()) / time;
}

// CHECKs that all samples are finite and below 10^150: the sampler has refused others.
void summarize(std::span<const double> in_time_order, Point& point) {
  const auto sane = [](double x) { return std::abs(x) < kHugest; };  // false for NaN
  RG_CHECK(std::ranges::all_of(in_time_order, sane));
  point.set_sample_count(static_cast<double>(in_time_order.size()));
  if (in_time_order.empty()) return;
  const std::vector<double> sorted = sorted_copy(in_time_order);
  const double median = quantile_sorted(sorted, 0.5);
  const double effective = effective_count_about(in_time_order, median);
  point.set_median(median);
  point.set_effective_sample_count(effective);
  if (const auto interval = median_interval_sorted(sorted, effective)) {
    point.set_median_low(interval->low);
    point.set_median_high(interval->high);
  }
  point.set_min(sorted.front());
  point.set_max(sorted.back());
  set_spread(in_time_order, point);
  set_percentiles(sorted, point);
  point.set_lag1_autocorrelation(lag1_autocorrelation(in_time_order));
  *point.mutable_histogram() = histogram_sorted(sorted);
}

}  // namespace railgauge
