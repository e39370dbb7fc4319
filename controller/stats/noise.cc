#include "controller/stats/noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "controller/stats/distributions.h"
#include "kernels/core/base/result.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {

namespace {

// Median and 90 % quantile of |z| for a standard normal z.
constexpr double kNormalMedian = 0.6745;
constexpr double kMadToSigma = 1.4826;
constexpr double kNormalQ90 = 1.6449;
// A normal sample's root mean square is above this share of its robust deviation.
constexpr double kFewSizes = 0.75;
// Differences count up to so many of their deviations.
constexpr double kCap = 3;
// A series with fewer runs takes the scale of its class.
constexpr double kFewRuns = 30;
// A series is at most so much quieter than its class.
constexpr double kPooledFloor = 0.5;
constexpr std::size_t kStepsAmongZeros = 3;
// Zeros on each side of a step between two values that are held.
constexpr std::size_t kHeld = 2;
// Least share of such steps among the differences of a series of levels without noise.
constexpr double kMostlySteps = 0.8;
constexpr std::size_t kMinPeers = 8;
// A correlation is pulled to 0 by this share of its chance variance over its square (James and
// Stein).
constexpr double kShyRho = 1.5;
// A series begins with so many runs of "no correlation": short ones overestimate it.
constexpr double kShyRuns = 20;
// Fewest runs from which a cubic is taken as their trend.
constexpr std::size_t kCubicRuns = 24;

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

// Number of steps in a series whose differences are mostly 0. Where nearly all others part values
// that are held, these are its levels, and all of them are steps.
std::size_t steps_among_zeros(std::span<const double> away) {
  std::size_t others = 0;
  std::size_t steps = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < away.size(); ++i) {
    if (away[i] == 0) continue;
    const std::size_t next =
        static_cast<std::size_t>(std::find_if(away.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                              away.end(), [](double d) { return d != 0; }) -
                                 away.begin());
    ++others;
    steps += i >= last + kHeld && next > i + kHeld ? 1 : 0;
    last = i + 1;
  }
  const bool has_levels = static_cast<double>(steps) >= kMostlySteps * static_cast<double>(others);
  return has_levels ? std::max(steps, kStepsAmongZeros) : kStepsAmongZeros;
}

// E d(k)^2 = 2 var (1 - rho^k): the ratio at lags 2 and 1 is 1 + rho. A step is in one difference
// of lag 1 and in two of lag 2, capped, so it hardly shows.
double lag_ratio_rho(std::span<const double> values, std::vector<double> first, double scale,
                     bool mostly_zero) {
  const double cap = kCap * scale * std::sqrt(2.0);
  std::vector<double> second = differences(values, 2);
  if (mostly_zero) {
    const std::size_t steps = steps_among_zeros(first);
    drop_largest(first, steps);
    drop_largest(second, 2 * steps);
  }
  const double one = capped_mean_square(first, cap);
  if (one <= 0) return 0;
  return capped_mean_square(second, cap) / one - 1;
}

// Absolute second differences of values `lag` apart: what bends, not what climbs.
std::vector<double> bends(std::span<const double> values, std::size_t lag) {
  std::vector<double> out(values.size() - 2 * lag);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::abs(values[i + 2 * lag] - 2 * values[i + lag] + values[i]);
  return out;
}

// Robust standard deviation of differences about 0; reorders `away`. Where it is far above the root
// of their mean square, they have few sizes, and the root is the deviation.
double spread_of(std::vector<double>& away) {
  const double robust =
      std::max(median_in(away) / kNormalMedian, quantile_in(away, 0.9) / kNormalQ90);
  const double squares = std::inner_product(away.begin(), away.end(), away.begin(), 0.0);
  const double plain = std::sqrt(squares / static_cast<double>(away.size()));
  // The sum of huge squares may be no number.
  return plain < kFewSizes * robust ? plain : robust;
}

// Sets scale and correlation of a series that climbs by more than its noise from run to run: first
// differences would be its slope. For correlation rho of neighbours the squares of second
// differences have the means 2 var (1 - rho) (3 - rho) at lag 1 and 2 var (1 - rho^2) (3 - rho^2)
// at lag 2; their ratio (1 + rho) (3 - rho^2) / (3 - rho) rises with rho, from 0 to 2.
void estimate_by_bends(std::span<const double> values, double floor, Noise& noise) {
  std::vector<double> first = bends(values, 1);
  std::vector<double> second = bends(values, 2);
  std::vector<double> scratch = first;
  const double spread = std::max(spread_of(scratch), floor * std::sqrt(6.0));
  const double one = capped_mean_square(first, kCap * spread);
  const double ratio = one > 0 ? capped_mean_square(second, kCap * spread) / one : 1;
  double low = -1;
  double high = 1;
  for (int i = 0; i < 30; ++i) {
    const double rho = (low + high) / 2;
    ((1 + rho) * (3 - rho * rho) / (3 - rho) < ratio ? low : high) = rho;
  }
  noise.raw_rho = low;
  noise.raw_scale = spread_of(first) / std::sqrt(2 * (3 - low));
}

// Scale and correlation from first differences.
Noise raw_noise(std::span<const double> values, double floor) {
  const std::vector<double> first = differences(values, 1);
  std::vector<double> scratch = first;
  const double middle = median_in(scratch);
  Noise noise;
  noise.raw_scale = spread_of(scratch) / std::sqrt(2.0);
  noise.raw_rho = lag_ratio_rho(values, first, std::max(noise.raw_scale, floor), middle == 0);
  // Rare blips among equal values are no alternation.
  if (middle == 0) noise.raw_rho = std::max(noise.raw_rho, 0.0);
  return noise;
}

// The values without their best polynomial: a cubic, or a line where runs are few. The powers are
// made orthogonal on the runs.
std::vector<double> without_trend(std::span<const double> values) {
  const int most = values.size() < kCubicRuns ? 1 : 3;
  const std::size_t n = values.size();
  std::vector<double> rest(values.begin(), values.end());
  std::vector<std::vector<double>> basis;
  for (int degree = 0; degree <= most; ++degree) {
    std::vector<double> next(n);
    for (std::size_t i = 0; i < n; ++i)
      next[i] = std::pow(2 * static_cast<double>(i) / static_cast<double>(n - 1) - 1, degree);
    for (const std::vector<double>& other : basis) {
      const double share = std::inner_product(next.begin(), next.end(), other.begin(), 0.0);
      for (std::size_t i = 0; i < n; ++i) next[i] -= share * other[i];
    }
    const double length =
        std::sqrt(std::inner_product(next.begin(), next.end(), next.begin(), 0.0));
    for (double& v : next) v /= length;
    const double share = std::inner_product(rest.begin(), rest.end(), next.begin(), 0.0);
    for (std::size_t i = 0; i < n; ++i) rest[i] -= share * next[i];
    basis.push_back(std::move(next));
  }
  return rest;
}

// The same about a smooth movement: from first differences of what a polynomial leaves, or from
// second differences where even these follow each other.
Noise raw_noise_about_trend(std::span<const double> values, double floor) {
  Noise noise = raw_noise(without_trend(values), floor);
  if (noise.raw_rho > 1) estimate_by_bends(values, floor, noise);
  return noise;
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

// The variance of an AR(1) process: less than its long-run variance when n is short.
double Noise::variance_of_mean(double n, double correlation) const {
  const double c = correlation;
  const double past = 2 * c * (1 - std::pow(c, n)) / (n * (1 - c) * (1 - c));
  return ((1 + c) / (1 - c) - past) / (n * (1 - rho));
}

double shy_rho(double raw, double n) {
  const double square = n * raw * raw;
  if (square <= kShyRho) return 0;
  const double shy = 1 - kShyRho / square;
  return raw * (raw < 0 ? shy : std::min(shy, n / (n + kShyRuns)));
}

Noise estimate_noise(std::span<const double> values, double floor, const Prior& prior) {
  RG_CHECK(values.size() >= 3);
  const auto n = static_cast<double>(values.size());
  Noise noise = raw_noise(values, floor);
  // No noise has differences that follow each other; a random walk's have a correlation of 0.
  if (noise.raw_rho > 1 && values.size() >= kLeastTrend)
    noise = raw_noise_about_trend(values, floor);
  noise.scale = std::max(noise.raw_scale, floor);
  double rho = 0;
  if (prior.weight > 0) {
    noise.scale = n < kFewRuns ? std::max(prior.scale, floor)
                               : std::max(noise.scale, kPooledFloor * prior.scale);
    rho = blend(noise.raw_rho, n, prior.rho, prior.weight);
  } else {
    rho = shy_rho(noise.raw_rho, n);
  }
  noise.rho = std::clamp(rho, -kMaxRho, kMaxRho);
  return noise;
}

Noise estimate_noise_about_trend(std::span<const double> values, double floor) {
  RG_CHECK(values.size() >= kLeastTrend);
  Noise noise = raw_noise_about_trend(values, floor);
  noise.scale = std::max(noise.raw_scale, floor);
  noise.rho =
      std::clamp(shy_rho(noise.raw_rho, static_cast<double>(values.size())), -kMaxRho, kMaxRho);
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

namespace {

// Least number of runs on each side of a split.
constexpr std::size_t kLeastSide = 12;
// Deviations up to which a residual counts.
constexpr double kResidualCap = 3;
constexpr double kProof = 1e-4;
// Ratio of the two spreads above which a change is reported.
constexpr double kRatio = 2;
// Levels of recursive splits.
constexpr int kMaxDepth = 3;

// The place where the spreads of the two sides fit best (the likelihood of Laplace's distribution):
// the place of largest contrast is too far into the wider side.
std::size_t likeliest_place(std::span<const double> sizes) {
  const auto n = static_cast<double>(sizes.size());
  const double total = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  double sum = 0;
  double best = std::numeric_limits<double>::infinity();
  std::size_t place = kLeastSide;
  for (std::size_t at = 1; at + kLeastSide <= sizes.size(); ++at) {
    sum += sizes[at - 1];
    if (at < kLeastSide) continue;
    const auto t = static_cast<double>(at);
    const double tiny = 1e-9 * total / n;
    const double cost =
        t * std::log(sum / t + tiny) + (n - t) * std::log((total - sum) / (n - t) + tiny);
    if (cost >= best) continue;
    best = cost;
    place = at;
  }
  return place;
}

// A split and its standardised difference of means.
struct Split {
  std::size_t at = 0;
  double z = 0;
};

// The split of `sizes` with the largest standardised difference. `factor` widens the variance where
// neighbours are correlated.
Split best_split(std::span<const double> sizes, double factor) {
  const auto n = static_cast<double>(sizes.size());
  const double mean = std::accumulate(sizes.begin(), sizes.end(), 0.0) / n;
  double variance = 0;
  for (const double v : sizes) variance += (v - mean) * (v - mean);
  variance *= factor / n;
  Split best;
  if (!(variance > 0)) return best;
  double sum = 0;
  for (std::size_t at = 1; at + kLeastSide <= sizes.size(); ++at) {
    sum += sizes[at - 1] - mean;
    if (at < kLeastSide) continue;
    const auto t = static_cast<double>(at);
    const double z = std::abs(sum) / std::sqrt(variance * t * (n - t) / n);
    if (z > best.z) best = {.at = at, .z = z};
  }
  return best;
}

// Arithmetic mean; `values` is not empty.
double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Splits recursively: the best split first, then its two sides, at most `depth` levels. Appends to
// `found` by index.
void split_spread(std::span<const double> sizes, std::size_t offset, double factor, int depth,
                  std::vector<SpreadChange>& found) {
  if (depth == 0 || sizes.size() < 2 * kLeastSide) return;
  Split split = best_split(sizes, factor);
  const double p = selected_split_p(split.z, static_cast<double>(sizes.size()) / factor,
                                    static_cast<double>(kLeastSide));
  if (split.at == 0 || p > kProof) return;
  split.at = likeliest_place(sizes);
  const auto before = sizes.first(split.at);
  const auto after = sizes.subspan(split.at);
  split_spread(before, offset, factor, depth - 1, found);
  const double a = mean_of(before);
  const double b = mean_of(after);
  // From a normal's mean absolute value to its standard deviation.
  const double to_sigma = std::sqrt(std::numbers::pi / 2);
  if (std::max(a, b) > kRatio * std::min(a, b) && fligner_killeen_p(before, after) < kProof)
    found.push_back(
        {.index = offset + split.at, .before = to_sigma * a, .after = to_sigma * b, .p = p});
  split_spread(after, offset + split.at, factor, depth - 1, found);
}

}  // namespace

double fligner_killeen_p(std::span<const double> before, std::span<const double> after) {
  struct Size {
    double value = 0;
    bool is_after = false;
  };
  std::vector<Size> all;
  all.reserve(before.size() + after.size());
  for (const double v : before) all.push_back({.value = std::abs(v), .is_after = false});
  for (const double v : after) all.push_back({.value = std::abs(v), .is_after = true});
  std::ranges::sort(all, {}, &Size::value);
  const auto n = static_cast<double>(all.size());
  std::vector<double> scores(all.size());
  for (std::size_t i = 0; i < all.size();) {
    std::size_t tied = i;
    while (tied < all.size() && all[tied].value == all[i].value) ++tied;
    // Ties share their mean rank, counted from 1.
    const double rank = (static_cast<double>(i + tied) + 1) / 2;
    const double score = normal_quantile(0.5 + rank / (2 * (n + 1)));
    for (; i < tied; ++i) scores[i] = score;
  }
  const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) / n;
  double variance = 0;
  double sum_after = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    variance += (scores[i] - mean) * (scores[i] - mean);
    if (all[i].is_after) sum_after += scores[i] - mean;
  }
  variance /= n - 1;
  if (!(variance > 0)) return 1;
  const auto a = static_cast<double>(before.size());
  const auto b = static_cast<double>(after.size());
  return chi_square_upper_tail(sum_after * sum_after * (1 / a + 1 / b) / variance, 1);
}

std::vector<SpreadChange> find_spread_changes(std::span<const double> residuals,
                                              const Noise& noise) {
  std::vector<SpreadChange> found;
  if (residuals.size() < 2 * kLeastSide) return found;
  const double cap = kResidualCap * noise.marginal();
  std::vector<double> sizes(residuals.size());
  std::ranges::transform(residuals, sizes.begin(),
                         [&](double r) { return std::min(std::abs(r), cap); });
  // Squares of correlated neighbours are correlated by rho^2.
  const double square = noise.rho * noise.rho;
  split_spread(sizes, 0, (1 + square) / (1 - square), kMaxDepth, found);
  return found;
}

}  // namespace railgauge::analysis
