// Noise of a series, estimated from differences, so that steps do not count as noise. Pure.
#pragma once

#include <span>
#include <vector>

namespace railgauge::analysis {

// Returns the median absolute deviation about `centre`, times 1.4826: the standard deviation of
// normal noise. `values` is not empty.
double mad_scale(std::span<const double> values, double centre);

// The common noise of peers of one metric and hardware class. Weight 0: no peers.
struct Prior {
  // Common scale of the noise; see Noise::scale.
  double scale = 0;
  // Mean correlation of neighbours; may be negative, since single estimates are not limited.
  double rho = 0;
  // Common tails; see Noise::tail_up.
  double tail_up = 1;
  double tail_down = 1;
  // Number of runs that the prior is worth; kPooledWeight with 8 peers or more.
  double weight = 0;
};
inline constexpr double kPooledWeight = 200;

// The noise of one series, on the scale of its values.
struct Noise {
  // Standard deviation of the noise, from differences of neighbours.
  double scale = 0;
  // Scale before floor and prior; pool() uses it.
  double raw_scale = 0;
  // Correlation of neighbours, in [-kMaxRho, kMaxRho]; below 0 where runs alternate.
  double rho = 0;
  // `rho` before it is limited and blended with the prior.
  double raw_rho = 0;
  // Weight of the upper tail relative to a normal one, >= 1; `tail_down` of the lower tail.
  double tail_up = 1;
  double tail_down = 1;

  // Returns the variance of a long mean in units of scale^2 / n, with correlated neighbours.
  [[nodiscard]] double factor() const;
  // Returns the variance of a long mean times its length.
  [[nodiscard]] double of_mean() const { return factor() * scale * scale; }
  // Returns the standard deviation of single values, which differ more than correlated neighbours.
  [[nodiscard]] double marginal() const;
  // Returns the variance of the mean of `n` neighbours in units of scale^2, where neighbours have
  // the given correlation.
  [[nodiscard]] double variance_of_mean(double n, double correlation) const;
};
inline constexpr double kMaxRho = 0.9;

// Returns the correlation `raw` of `n` runs, pulled to 0 as far as chance explains it.
double shy_rho(double raw, double n);

// Estimates the noise: scale = max(median |d| / 0.6745, q90 |d| / 1.6449) / sqrt 2 over differences
// d of neighbours. The q90 keeps bimodal and quantised series from looking quiet. `floor` is the
// least scale of the metric. CHECKs for at least 3 values.
Noise estimate_noise(std::span<const double> values, double floor, const Prior& prior);

// Estimates the noise about a level that moves smoothly, whose slope is no noise. Without a prior.
// CHECKs for at least kLeastTrend values.
Noise estimate_noise_about_trend(std::span<const double> values, double floor);
inline constexpr std::size_t kLeastTrend = 8;

// Sets the tails of `noise` from the residuals of a fit.
void estimate_tails(std::span<const double> residuals, const Prior& prior, Noise& noise);

// Returns the prior of a class from its members' estimates; weight 0 for fewer than 8 members.
Prior pool(std::span<const Noise> members);

// One place where the scatter of a series changes, not its level.
struct SpreadChange {
  // First run with the new spread.
  std::size_t index = 0;
  // Standard deviations on both sides, estimated from mean absolute residuals.
  double before = 0;
  double after = 0;
  // Chance of such a best split in a series with one spread.
  double p = 1;
};

// Finds places where the spread of `residuals` (about their level) more than doubles or halves, by
// index: the best splits of the absolute residuals with a significant Fligner-Killeen test.
std::vector<SpreadChange> find_spread_changes(std::span<const double> residuals,
                                              const Noise& noise);

// Returns the Fligner-Killeen p of equal spreads of two groups (normal scores of the ranks of the
// absolute residuals).
double fligner_killeen_p(std::span<const double> before, std::span<const double> after);

}  // namespace railgauge::analysis
