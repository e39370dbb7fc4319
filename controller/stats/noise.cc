#include "controller/stats/noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {
namespace {

// Median and 90 % quantile of |z| for a standard normal z.
constexpr double kNormalMedian = 0.6745;
constexpr double kMadToSigma = 1.4826;
constexpr double kNormalQ90 = 1.6449;
// Differences count up to so many of their deviations.
constexpr double kCap = 3;
// A series with fewer runs takes the scale of its class.
constexpr double kFewRuns = 30;
// A series is at most so much quieter than its class.
constexpr double kPooledFloor = 0.5;
constexpr std::size_t kStepsAmongZeros = 3;
constexpr std::size_t kMinPeers = 8;
// Runs of "no correlation" that a series begins with.
constexpr double kShyRho = 20;

// Absolute differences of values that are `lag` apart.
std::vector<double> differences(std::span<const double> values, std::size_t lag) {
  std::vector<double> out(values.size() - lag);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::abs(values[i + lag] - values[i]);
  return out;
}

// Mean square with a cap, so that a step, which is one huge difference, hardly counts.
double capped_mean_square(std::span<const double> away, double cap) {
  double sum = 0;
  for (const double d : away) {
    const double c = std::min(d, cap);
    sum += c * c;
  }
  return sum / static_cast<double>(away.size());
}

// Where most differences are zero a single step is most of what is there: the largest are left out.
void drop_largest(std::vector<double>& away, std::size_t count) {
  std::ranges::sort(away);
  away.resize(away.size() - std::min(count, away.size() - 1));
}

// E d(k)^2 = 2 var (1 - rho^k): the ratio at lags 2 and 1 is 1 + rho. A step is in one difference
// of lag 1 and in two of lag 2, capped, so it hardly shows.
double lag_ratio_rho(std::span<const double> values, std::vector<double> first, double scale,
                     bool mostly_zero) {
  const double cap = kCap * scale * std::sqrt(2.0);
  std::vector<double> second = differences(values, 2);
  if (mostly_zero) {
    drop_largest(first, kStepsAmongZeros);
    drop_largest(second, 2 * kStepsAmongZeros);
  }
  const double one = capped_mean_square(first, cap);
  if (one <= 0) return 0;
  return capped_mean_square(second, cap) / one - 1;
}

// How much wider the upper tail of `side` is than a normal's, at least 1. `marginal` is its
// standard deviation. Reorders `side`.
double tail_ratio(std::vector<double>& side, double marginal) {
  struct Place {
    double share;
    // The same quantile of a standard normal.
    double normal;
  };
  constexpr std::array kAt{Place{0.90, 1.2816}, Place{0.95, 1.6449}, Place{0.98, 2.0537}};
  double widest = 1;
  for (const auto& [share, normal] : kAt) {
    // Two values beyond, or it is luck.
    if (static_cast<double>(side.size()) * (1 - share) < 2) break;
    widest = std::max(widest, quantile_in(side, share) / (normal * marginal));
  }
  return widest;
}

// Average of an own estimate from `n` runs and a shared one that is worth `weight` runs.
double blend(double own, double n, double shared, double weight) {
  return (n * own + weight * shared) / (n + weight);
}

}  // namespace

double mad_scale(std::span<const double> values, double centre) {
  std::vector<double> away(values.size());
  std::ranges::transform(values, away.begin(), [&](double v) { return std::abs(v - centre); });
  return kMadToSigma * median_in(away);
}

double Noise::factor() const { return (1 + rho) / ((1 - rho) * (1 - rho)); }

double Noise::marginal() const { return scale / std::sqrt(1 - rho); }

double Noise::variance_of_mean(double n) const {
  // The variance of an AR(1) process: less than its long-run variance when n is short.
  const double past = 2 * rho * (1 - std::pow(rho, n)) / (n * (1 - rho) * (1 - rho));
  return ((1 + rho) / (1 - rho) - past) / (n * (1 - rho));
}

Noise estimate_noise(std::span<const double> values, double floor, const Prior& prior) {
  RG_CHECK(values.size() >= 3);
  const auto n = static_cast<double>(values.size());
  const std::vector<double> first = differences(values, 1);
  std::vector<double> scratch = first;
  const double middle = median_in(scratch) / kNormalMedian;
  const double outer = quantile_in(scratch, 0.9) / kNormalQ90;
  Noise noise;
  noise.raw_scale = std::max(middle, outer) / std::sqrt(2.0);
  noise.scale = std::max(noise.raw_scale, floor);
  noise.raw_rho = lag_ratio_rho(values, first, noise.scale, middle == 0);
  // Without a class the correlation is pulled to 0: short series overestimate it.
  double weight = kShyRho;
  double shared = 0;
  if (prior.weight > 0) {
    weight = prior.weight;
    shared = prior.rho;
    noise.scale = n < kFewRuns ? std::max(prior.scale, floor)
                               : std::max(noise.scale, kPooledFloor * prior.scale);
  }
  noise.rho = std::clamp(blend(noise.raw_rho, n, shared, weight), 0.0, kMaxRho);
  return noise;
}

void estimate_tails(std::span<const double> residuals, const Prior& prior, Noise& noise) {
  std::vector<double> side(residuals.begin(), residuals.end());
  const auto n = static_cast<double>(side.size());
  noise.tail_up = blend(tail_ratio(side, noise.marginal()), n, prior.tail_up, prior.weight);
  for (double& r : side) r = -r;
  noise.tail_down = blend(tail_ratio(side, noise.marginal()), n, prior.tail_down, prior.weight);
}

Prior pool(std::span<const Noise> members) {
  Prior prior;
  if (members.size() < kMinPeers) return prior;
  const auto middle = [&](double Noise::*part) {
    std::vector<double> all;
    all.reserve(members.size());
    for (const Noise& member : members) all.push_back(member.*part);
    return median_in(all);
  };
  prior.scale = middle(&Noise::raw_scale);
  prior.rho = middle(&Noise::raw_rho);
  prior.tail_up = middle(&Noise::tail_up);
  prior.tail_down = middle(&Noise::tail_down);
  prior.weight = kPooledWeight;
  return prior;
}

}  // namespace railgauge::analysis
