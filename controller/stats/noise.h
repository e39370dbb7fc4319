// The noise of a series, estimated from its differences, so that steps do not pass for noise. Pure.
#pragma once

#include <span>
#include <vector>

namespace railgauge::analysis {

// Median absolute deviation about `centre`, times 1.4826: the standard deviation of normal noise.
// Not empty.
double mad_scale(std::span<const double> values, double centre);

// The common noise of peers of one metric and hardware class. A series of its own is judged without
// one (weight 0).
struct Prior {
  // Common scale of the noise; see Noise::scale.
  double scale = 0;
  // May be negative: an average of estimates that were not cut off.
  double rho = 0;
  // Common tails; see Noise::tail_up.
  double tail_up = 1;
  double tail_down = 1;
  // Number of runs that the prior is worth; kPooledWeight with 8 peers or more.
  double weight = 0;
};
inline constexpr double kPooledWeight = 200;

// Estimate for one series, on the scale of its values. All members follow from the values alone.
struct Noise {
  // Standard deviation of the noise, from differences of neighbours.
  double scale = 0;
  // Before floor and prior: what a pool is made of.
  double raw_scale = 0;
  // Correlation of neighbours, in [0, kMaxRho].
  double rho = 0;
  // `rho` before it is limited and blended with the prior.
  double raw_rho = 0;
  // How much heavier than normal the upper tail is, >= 1.
  double tail_up = 1;
  double tail_down = 1;

  // Variance of a long mean in units of scale^2 / n, when neighbours are correlated.
  [[nodiscard]] double factor() const;
  // Standard deviation of single values: correlated neighbours differ less than strangers do.
  [[nodiscard]] double marginal() const;
  // Variance of the mean of `n` neighbours in units of scale^2.
  [[nodiscard]] double variance_of_mean(double n) const;
};
inline constexpr double kMaxRho = 0.9;

// scale = max(median |d| / 0.6745, q90 |d| / 1.6449) / sqrt 2 over differences of neighbours: the
// q90 keeps bimodal and quantised series from looking quiet. `floor` is the least scale that this
// metric can have. At least 3 values.
// Ends the process when there are fewer than 3 values.
Noise estimate_noise(std::span<const double> values, double floor, const Prior& prior);

// Fills the tails from what a fit leaves over.
void estimate_tails(std::span<const double> residuals, const Prior& prior, Noise& noise);

// The prior of a class from its members' own estimates; weight 0 below 8 of them.
Prior pool(std::span<const Noise> members);

// One place where the scatter of a series changes, not its level.
struct SpreadChange {
  // First run with the new spread.
  std::size_t index = 0;
  // Standard deviations on both sides, estimated from mean absolute residuals.
  double before = 0;
  double after = 0;
  // Chance of the best split of a series with one spread.
  double p = 1;
};

// Places where the spread of `residuals` (about their level) more than doubles or halves: found as
// the best split of the absolute residuals, shown by Fligner and Killeen's test. By index.
std::vector<SpreadChange> find_spread_changes(std::span<const double> residuals,
                                              const Noise& noise);

// Fligner and Killeen's p that two groups have the same spread (normal scores of the absolute
// residuals' ranks).
double fligner_killeen_p(std::span<const double> before, std::span<const double> after);

}  // namespace railgauge::analysis
