// How many independent samples a series of dependent ones is worth. Works on indicators (samples
// above a level, or not), because the errors of a median and of a percentile are made of these.
// Pure; thread safe.
#pragma once

#include <span>
#include <vector>

namespace railgauge {

// Returns -1, 0 or 1 for each sample below, at or above `level`, less their mean.
std::vector<double> centred_signs(std::span<const double> in_time_order, double level);

// Returns the likely number of independent samples in a centred series, at least 1 and at most its
// length: Geyer's initial monotone sequence estimate (Statistical Science 7, 1992). Correlation
// below its own noise counts as none.
double likely_count(std::vector<double> centred);

// Returns the likely number of independent samples behind the q-quantile, 0 < q < 1, whose estimate
// is `level`; at most the length. The fewer of two: likely_count() of the signs about `level`, and
// what a Gaussian autoregression has that depends as much about `median`. Few samples are above a
// high quantile, and hardly show their dependence; all samples do about the median.
double quantile_count(std::span<const double> in_time_order, double median, double level, double q);

// Returns a number of independent samples that the series is hardly worth less than, at most its
// length: what an interval may rest on. Below 1 where the series is one slow movement. It is the
// least of three estimates, each with Student's quantile for the batches that it has, divided by
// an allowance for the error of the estimates and for the sampler's repeated looks. Decision 066
// derives the constants by simulation.
double safe_count(std::vector<double> centred);

// Returns half the 95 % interval of the mean of a centred series, from the means of batches of
// every length: the widest counts, with safe_count()'s allowance for dependence. Infinite below 8
// values; 0 where all are equal.
double mean_half_width(std::vector<double> centred);

}  // namespace railgauge
