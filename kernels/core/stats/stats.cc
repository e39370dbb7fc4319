// Intervals of the median and of percentiles, and the buckets of a histogram.
#include "kernels/core/stats/stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/core/base/result.h"
#include "kernels/core/stats/dependence.h"

namespace railgauge {
namespace {

// Probability outside each rank: 95 % are between the two.
constexpr double kMissEachSide = 0.025;
// The least count with an interval: 1 - 2 / 2^6 is the first coverage above 95 %.
constexpr double kMinEffective = 6;
// Confidence with which the largest sample bounds a percentile.
constexpr double kPercentileConfidence = 0.99;
// The interval of a percentile rests on so many times fewer samples than were counted, because the
// count is an estimate and the stop rule chose the moment.
constexpr double kPercentileAllowance = 1.5;
// Share of a sum of probabilities that a term may be left out for.
constexpr double kNegligible = 1e-17;
// Fewer effective samples count as so many: below six the range of the samples is extended.
constexpr double kFewestCounted = 1;
// Fewer samples have no interval of the median, whatever they are worth.
constexpr std::size_t kFewestSamples = 8;
// Fewest effective samples of an estimate that is called precise (decision 066).
constexpr double kMinPrecise = 8;
// Blocks whose medians show a trend.
constexpr std::size_t kTrendBlocks = 16;
// A trend is bounded at 99 %, the median at 95 %: the ratio of the normal's quantiles. A trend that
// is missed is in error by more than its share.
constexpr double kTrendCaution = 2.575829 / 1.959964;
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

// --- the whole time -----------------------------------------------------------------------------

// The median of values that it reorders.
double median_in_place(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double upper = *middle;
  return std::lerp(values.size() % 2 == 1 ? upper : *std::max_element(values.begin(), middle),
                   upper, 0.5);
}

// The change from the first to the last sample of the straight line through the levels of blocks;
// `level` may reorder its values.
template <class Level>
double trend_of_blocks(std::span<const double> in_time_order, const Level& level) {
  const std::size_t n = in_time_order.size();
  const std::size_t blocks = std::min(kTrendBlocks, n >= 2 * kTrendBlocks ? n / 4 : n);
  if (blocks < 3) return 0;
  const double centre = static_cast<double>(blocks - 1) / 2;
  double products = 0;
  double squares = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto part =
        in_time_order.subspan(block * n / blocks, (block + 1) * n / blocks - block * n / blocks);
    std::vector<double> values(part.begin(), part.end());
    const double from_centre = static_cast<double>(block) - centre;
    products += from_centre * level(values);
    squares += from_centre * from_centre;
  }
  return products / squares * static_cast<double>(blocks);
}

// --- percentiles --------------------------------------------------------------------------------

// Ranks from the top (1 is the largest sample) between which the q-quantile of n independent
// samples is with 95 %; `upper` is 0 where no sample is above it surely enough.
struct TopRanks {
  double upper = 0;
  double lower = 0;
};

// The number of samples above the quantile is binomial(n, 1 - q). Summed upwards from where it is
// negligible, through logarithms: q^n underflows.
TopRanks top_ranks(double n, double q) {
  constexpr double kFarDeviations = 12;
  const double above = 1 - q;
  const double far = n * above - kFarDeviations * std::sqrt(n * above * q);
  const double first = std::max(0.0, std::floor(far));
  int sign = 0;
  double term = std::exp(lgamma_r(n + 1, &sign) - lgamma_r(first + 1, &sign) -
                         lgamma_r(n - first + 1, &sign) + first * std::log(above) +
                         (n - first) * std::log(q));
  double sum = 0;
  TopRanks out;
  for (double k = first; k < n; ++k) {
    sum += term;
    if (sum <= kMissEachSide) out.upper = k + 1;
    if (sum >= 1 - kMissEachSide) {
      out.lower = k + 1;
      break;
    }
    term *= (n - k) / (k + 1) * above / q;
  }
  return out;
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

// As estimate_percentile(), of samples that are sorted already.
std::optional<PercentileEstimate> percentile_of(std::span<const double> in_time_order,
                                                std::span<const double> sorted, double q) {
  const std::uint64_t needed = samples_needed(std::max(q, 1 - q));
  if (sorted.size() < needed) return std::nullopt;
  const double value = quantile_sorted(sorted, q);
  const double effective = quantile_count(in_time_order, quantile_sorted(sorted, 0.5), value, q);
  if (effective < static_cast<double>(needed)) return std::nullopt;
  if (q <= 0.5) return PercentileEstimate{value, std::nullopt};
  // Near the fewest samples the interval is that of the fewest, the widest that there is.
  const double counted = std::max(effective / kPercentileAllowance, static_cast<double>(needed));
  return PercentileEstimate{value, quantile_interval_sorted(sorted, q, counted)};
}

// Sets the percentiles that the samples can bound, and the intervals of the high ones.
void set_percentiles(std::span<const double> in_time_order, std::span<const double> sorted,
                     Point& point) {
  if (const auto p25 = percentile_of(in_time_order, sorted, 0.25)) point.set_p25(p25->value);
  if (const auto p75 = percentile_of(in_time_order, sorted, 0.75)) point.set_p75(p75->value);
  if (const auto p90 = percentile_of(in_time_order, sorted, 0.9)) point.set_p90(p90->value);
  if (const auto p99 = percentile_of(in_time_order, sorted, 0.99)) {
    point.set_p99(p99->value);
    if (p99->interval) {
      point.set_p99_low(p99->interval->low);
      point.set_p99_high(p99->interval->high);
    }
  }
  if (const auto p999 = percentile_of(in_time_order, sorted, 0.999)) {
    point.set_p999(p999->value);
    if (p999->interval) {
      point.set_p999_low(p999->interval->low);
      point.set_p999_high(p999->interval->high);
    }
  }
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

// Dependent samples take the ranks of their effective number, scaled to n.
std::optional<Interval> quantile_interval_sorted(std::span<const double> sorted, double q,
                                                 double effective_n) {
  RG_CHECK(q > 0.5 && q < 1);
  const auto n = static_cast<double>(sorted.size());
  const double effective = std::floor(std::min(effective_n, n));
  if (!(effective >= 1)) return std::nullopt;
  const TopRanks ranks = top_ranks(effective, q);
  if (ranks.upper == 0 || ranks.lower == 0) return std::nullopt;
  const double scale = effective < n ? (n + 1) / (effective + 1) : 1;
  const auto upper = static_cast<std::size_t>(std::max(1.0, std::floor(ranks.upper * scale)));
  const auto lower = static_cast<std::size_t>(std::min(n, std::ceil(ranks.lower * scale)));
  return Interval{sorted[sorted.size() - lower], sorted[sorted.size() - upper]};
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

// Three partial sorts instead of a full one: the sampler calls this between batches. With fewer
// than six effective samples the ends are the extreme samples, moved away from the median as the
// root of the missing ones asks.
MedianEstimate estimate_median(std::span<const double> in_time_order, double allowed) {
  RG_CHECK(!in_time_order.empty());
  std::vector<double> values(in_time_order.begin(), in_time_order.end());
  const auto at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t n = values.size();
  MedianEstimate out{.median = median_in_place(values), .effective_count = 0, .interval = {}};
  out.effective_count = safe_count(centred_signs(in_time_order, out.median));
  if (n < kFewestSamples) return out;
  const double ranked = std::max(out.effective_count, kMinEffective);
  const auto low = interval_index(static_cast<double>(n), ranked);
  if (!low) return out;  // fewer than six samples
  // Each end is in its own half: low < n / 2 <= n - 1 - low.
  std::nth_element(values.begin(), at(*low), at(n / 2));
  Interval interval{.low = *at(*low), .high = 0};
  std::nth_element(at(n / 2), at(n - 1 - *low), values.end());
  interval.high = *at(n - 1 - *low);
  const double extension = std::sqrt(ranked / std::max(kFewestCounted, out.effective_count));
  if (extension > 1) {
    interval.low = out.median - extension * (out.median - interval.low);
    interval.high = out.median + extension * (interval.high - out.median);
  }
  if (const double ratio = allowed / static_cast<double>(n); ratio > 1)
    interval = over_allowed_time(interval, out.median,
                                 trend_of_blocks(in_time_order, median_in_place), ratio);
  // Where no sample is below 0, as of times and rates, no end is: beyond half of the median it
  // nears 0 instead of passing it.
  const double below = out.median - interval.low;
  if (out.median > 0 && below > out.median / 2 && std::ranges::min(in_time_order) >= 0)
    interval.low = out.median * out.median / (4 * below);
  out.interval = interval;
  return out;
}

std::optional<PercentileEstimate> estimate_percentile(std::span<const double> in_time_order,
                                                      double q) {
  return percentile_of(in_time_order, sorted_copy(in_time_order), q);
}

double trend_of_means(std::span<const double> in_time_order) {
  return trend_of_blocks(in_time_order, mean_of);
}

// It is the interval of a regression's level in the middle of the allowed time: the variance of the
// slope is 12 times the level's, over the measured time squared. The estimated trend moves one end.
Interval over_allowed_time(Interval measured, double level, double trend, double allowed) {
  if (!(allowed > 1)) return measured;
  const double ahead = allowed - 1;
  const double stretch = std::sqrt(1 + 3 * std::pow(kTrendCaution * ahead, 2));
  const double shift = trend * ahead / 2;
  return {.low = level - stretch * (level - measured.low) + std::min(shift, 0.0),
          .high = level + stretch * (measured.high - level) + std::max(shift, 0.0)};
}

bool is_within(const Interval& interval, double level, double share) {
  return std::max(interval.high - level, level - interval.low) <= share * std::abs(level);
}

bool is_precise(std::span<const double> in_time_order, double allowed, double share) {
  if (in_time_order.empty()) return false;
  const MedianEstimate estimate = estimate_median(in_time_order, allowed);
  if (!estimate.interval || estimate.effective_count < kMinPrecise || estimate.median == 0)
    return false;
  return is_within(*estimate.interval, estimate.median, share);
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
void summarize(std::span<const double> in_time_order, Point& point, double allowed) {
  const auto sane = [](double x) { return std::abs(x) < kHugest; };  // false for NaN
  RG_CHECK(std::ranges::all_of(in_time_order, sane));
  point.set_sample_count(static_cast<double>(in_time_order.size()));
  if (in_time_order.empty()) return;
  const std::vector<double> sorted = sorted_copy(in_time_order);
  const MedianEstimate estimate = estimate_median(in_time_order, allowed);
  point.set_median(estimate.median);
  point.set_effective_sample_count(estimate.effective_count);
  if (estimate.interval) {
    point.set_median_low(estimate.interval->low);
    point.set_median_high(estimate.interval->high);
  }
  point.set_min(sorted.front());
  point.set_max(sorted.back());
  set_spread(in_time_order, point);
  set_percentiles(in_time_order, sorted, point);
  point.set_lag1_autocorrelation(lag1_autocorrelation(in_time_order));
  *point.mutable_histogram() = histogram_sorted(sorted);
}

}  // namespace railgauge
