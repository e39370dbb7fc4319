// Order statistics over samples: no shape of distribution is assumed. Pure; thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/core/base/record.pb.h"

namespace railgauge {

// A closed interval of the samples' unit.
struct Interval {
  double low = 0;
  double high = 0;
};

// `sorted` ascending and not empty; q in [0, 1]; linear interpolation between order statistics
// (Hyndman and Fan's type 7).
double quantile_sorted(std::span<const double> sorted, double q);

// 95 % interval of the median from the ranks of a binomial(n, 1/2): exact coverage of at least 95 %
// for independent samples of any continuous distribution. `effective_n` (<= n) widens it for
// dependent samples. Absent below 6 effective samples.
std::optional<Interval> median_interval_sorted(std::span<const double> sorted, double effective_n);

// Smallest n for which the largest of n samples bounds the q-quantile with 99 % confidence:
// 1 - q^n >= 0.99 (p99: 459, p99.9: 4603).
std::uint64_t samples_needed(double q);

// Lag-1 autocorrelation in time order; 0 when the samples do not vary. NaN never.
double lag1_autocorrelation(std::span<const double> in_time_order);

// Number of independent samples that are worth these (<= n): by the initial-sequence estimate of
// the integrated autocorrelation time of the samples' signs about the median.
double effective_sample_count(std::span<const double> in_time_order);

// The median and the parts of its interval.
struct MedianEstimate {
  double median = 0;
  double effective_count = 0;
  std::optional<Interval> interval;
};
// The estimate without a full sort, for the sampler between batches. `in_time_order` is not empty.
MedianEstimate estimate_median(std::span<const double> in_time_order);

// Half the width of the median's 95 % interval over the median, of samples in time order that are
// not empty; absent where there is no interval or the median is 0.
std::optional<double> relative_half_width(std::span<const double> in_time_order);

// All amounts over all time, for rates of equal amounts: their harmonic mean. Not empty, all above
// 0.
double rate_over_all_time(std::span<const double> rates);

// Counts in buckets of three significant digits.
Histogram histogram_of(std::span<const double> samples);

// Fills every statistic of `point` from the samples (in time order). A statistic that they cannot
// bound stays absent.
void summarize(std::span<const double> in_time_order, Point& point);

}  // namespace railgauge
