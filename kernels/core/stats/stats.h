// Order statistics over samples: no shape of distribution is assumed. Pure; thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/core/base/record.pb.h"

namespace railgauge {

// A closed interval in the samples' unit.
struct Interval {
  double low = 0;
  double high = 0;
};

// Returns the q-quantile of `sorted` (ascending, not empty), q in [0, 1], by linear interpolation
// between order statistics (Hyndman and Fan's type 7).
double quantile_sorted(std::span<const double> sorted, double q);

// Returns the 95 % interval of the median from the ranks of a binomial(n, 1/2): exact coverage of
// at least 95 % for independent samples of any continuous distribution. `effective_n` (<= n) widens
// the interval for dependent samples. Absent below 6 effective samples.
std::optional<Interval> median_interval_sorted(std::span<const double> sorted, double effective_n);

// Returns the 95 % interval of the q-quantile (0.5 < q < 1) from the ranks of a binomial(n, 1 - q);
// `effective_n` as above. Absent where too few samples are above the quantile to bound it.
std::optional<Interval> quantile_interval_sorted(std::span<const double> sorted, double q,
                                                 double effective_n);

// Returns the smallest n for which the largest of n samples bounds the q-quantile with 99 %
// confidence: 1 - q^n >= 0.99 (p99: 459, p99.9: 4603).
std::uint64_t samples_needed(double q);

// Returns the lag-1 autocorrelation in time order; 0 when the samples do not vary, never NaN.
double lag1_autocorrelation(std::span<const double> in_time_order);

// Returns the number of independent samples that the median's interval rests on (<= n), a careful
// one: safe_count() of the samples' signs about the median.
double effective_sample_count(std::span<const double> in_time_order);

// The median, its interval and the sample count behind the interval.
struct MedianEstimate {
  double median = 0;
  double effective_count = 0;
  // Absent below eight samples. Wider than the range of the samples where they are worth fewer than
  // six independent ones.
  std::optional<Interval> interval;
};
// Estimates the median without a full sort, between the sampler's batches. The interval is for the
// median over the time of `allowed` samples, of which the given ones are the first: what the time
// cap would have allowed. A trend within its own uncertainty is part of it. 0 asks for the measured
// time alone. `in_time_order` is not empty.
MedianEstimate estimate_median(std::span<const double> in_time_order, double allowed = 0);

// A percentile and its interval.
struct PercentileEstimate {
  double value = 0;
  // Present above the median, where enough samples are above it.
  std::optional<Interval> interval;
};
// Estimates the q-quantile (0 < q < 1) of the measured time. Absent where the samples are worth
// fewer independent ones than samples_needed(): a low percentile needs its bound from below.
std::optional<PercentileEstimate> estimate_percentile(std::span<const double> in_time_order,
                                                      double q);

// Returns the change over all of a series in its straight line, by the means of 16 blocks; 0 below
// 3 values.
double trend_of_means(std::span<const double> in_time_order);

// Makes the interval of a level over the measured time that over `allowed` times as much, of which
// the measured is the first part. `trend` is the level's change within the measured time. 1 or less
// changes nothing.
Interval over_allowed_time(Interval measured, double level, double trend, double allowed);

// Whether both ends are within `share` of the level.
bool is_within(const Interval& interval, double level, double share);

// Whether the interval of estimate_median() exists, rests on at least 8 effective samples, and
// ends on both sides within `share` of the median. False without samples and for a median of 0.
bool is_precise(std::span<const double> in_time_order, double allowed, double share);

// Returns the sum of amounts over the sum of times for rates of equal amounts: the harmonic mean.
// `rates` is not empty, and all are above 0.
double rate_over_all_time(std::span<const double> rates);

// Counts the samples in buckets of three significant digits.
Histogram histogram_of(std::span<const double> samples);

// Fills every statistic of `point` from the samples (in time order). A statistic that the samples
// cannot bound stays absent; `allowed` as for estimate_median().
void summarize(std::span<const double> in_time_order, Point& point, double allowed = 0);

}  // namespace railgauge
