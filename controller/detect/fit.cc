#include "controller/detect/fit.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "controller/stats/distributions.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {

namespace {

// Largest p of a change.
constexpr double kKneeProof = 4e-3;
// Values count up to so many deviations from their median.
constexpr double kPull = 3;
// Runs: a mean of fewer has the tails of single values.
constexpr double kShort = 8;
// Places within this share of the best gain count as possible places.
constexpr double kNearlyBest = 0.9;

// Mean with values at most `reach` from their median: robust, and precise for clean noise.
double pulled_mean(std::span<const double> values, double reach) {
  const double middle = median(values);
  double sum = 0;
  for (const double v : values) sum += std::clamp(v - middle, -reach, reach);
  return middle + sum / static_cast<double>(values.size());
}

// How little a change is shown: above 1 it has to go.
double weakness(const Fit& fit, std::size_t k) {
  const Evidence evidence = evidence_of(fit, fit.bounds[k - 1], fit.bounds[k], fit.bounds[k + 1]);
  const double step = std::abs(fit.level(k) - fit.level(k - 1));
  const double by_size = fit.least_step / std::max(step, 1e-300);
  // On a scale where p = kKneeProof is 1 and all smaller ones are below, comparable with sizes.
  const double by_chance = std::log(kKneeProof) / std::log(std::min(evidence.p, 0.9));
  return std::max(by_size, by_chance);
}

}  // namespace

std::span<const double> Fit::piece(std::size_t k) const {
  return std::span(clipped).subspan(bounds[k], bounds[k + 1] - bounds[k]);
}

double Fit::level(std::size_t k) const { return median(piece(k)); }

Evidence evidence_of(const Fit& fit, std::size_t begin, std::size_t at, std::size_t end) {
  const auto values = std::span<const double>(fit.clipped);
  const auto a = static_cast<double>(at - begin);
  const auto b = static_cast<double>(end - at);
  const double reach = kPull * fit.noise.marginal();
  Evidence out;
  out.shift = pulled_mean(values.subspan(at, end - at), reach) -
              pulled_mean(values.subspan(begin, at - begin), reach);
  // The shorter side may be nothing but the tail of the longer one.
  const bool upper = (b <= a) == (out.shift > 0);
  const double tail = upper ? fit.noise.tail_up : fit.noise.tail_down;
  const double widen = 1 + (tail - 1) * std::min(1.0, kShort / std::min(a, b));
  out.deviation = fit.noise.scale * widen *
                  std::sqrt(fit.noise.variance_of_mean(a) + fit.noise.variance_of_mean(b));
  const double independent = (a + b) * (1 - fit.noise.rho) / (1 + fit.noise.rho);
  out.p =
      selected_split_p(out.shift / out.deviation, independent, static_cast<double>(kLeastPiece));
  return out;
}

void drop_unproven(Fit& fit) {
  while (fit.changes() > 0) {
    std::size_t weakest = 0;
    double worst = 1;
    for (std::size_t k = 1; k <= fit.changes(); ++k) {
      const double weak = weakness(fit, k);
      if (weak <= worst) continue;
      worst = weak;
      weakest = k;
    }
    if (weakest == 0) break;
    fit.bounds.erase(fit.bounds.begin() + static_cast<std::ptrdiff_t>(weakest));
  }
  for (std::size_t k = 1; k <= fit.changes(); ++k)
    fit.bounds[k] = place_of(fit, fit.bounds[k - 1], fit.bounds[k + 1]).best;
}

Place place_of(const Fit& fit, std::size_t begin, std::size_t end) {
  Place place{.best = begin + kLeastPiece, .first = 0, .last = 0};
  double best = -1;
  for (std::size_t at = begin + kLeastPiece; at + kLeastPiece <= end; ++at) {
    const double gain = fit.sums.gain(begin, at, end);
    if (gain <= best) continue;
    best = gain;
    place.best = at;
  }
  place.first = place.last = place.best;
  for (std::size_t at = begin + kLeastPiece; at + kLeastPiece <= end; ++at) {
    if (fit.sums.gain(begin, at, end) < kNearlyBest * best) continue;
    place.first = std::min(place.first, at);
    place.last = std::max(place.last, at);
  }
  return place;
}

namespace {

// Least length of a ramp in runs; shorter movements are steps.
constexpr std::size_t kLeastRamp = 12;
// Places tried for each end of a ramp.
constexpr std::size_t kKnots = 24;
constexpr std::size_t kLateRuns = 60;
constexpr std::size_t kLeastLateRuns = 20;
// Least |z| of a trend: a two-sided p of 1e-4.
constexpr double kTrendZ = 3.9;
// Least total movement of a drift, in deviations.
constexpr double kLeastTotal = 1.5;
// Penalties by which a ramp must beat a lone step.
constexpr double kSurely = 0.5;

// A ramp and how well it fits.
struct RampFit {
  Ramp ramp;
  // Sum of squared residuals.
  double cost = 0;
};

// Regression of [begin, end) on a ramp between the two knots.
RampFit fit_ramp(const Fit& fit, std::size_t begin, std::size_t end, std::size_t from,
                 std::size_t to) {
  double n = 0;
  double sx = 0;
  double sy = 0;
  double sxx = 0;
  double sxy = 0;
  double syy = 0;
  // Values relative to the first one keep the sums small, which saves digits.
  const double base = fit.clipped[begin];
  for (std::size_t i = begin; i < end; ++i) {
    const double x =
        static_cast<double>(std::clamp(i, from, to) - from) / static_cast<double>(to - from);
    const double y = fit.clipped[i] - base;
    n += 1;
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
    syy += y * y;
  }
  const double spread = sxx - sx * sx / n;
  const double slope = spread > 0 ? (sxy - sx * sy / n) / spread : 0;
  const double start = (sy - slope * sx) / n;
  RampFit out;
  out.cost = std::max(0.0, syy - start * sy - slope * sxy);
  out.ramp = {
      .begin = from,
      .end = to,
      .before = base + start,
      .after = base + start + slope,
      .deviation = spread > 0 ? std::sqrt(fit.noise.factor() / spread) * fit.noise.scale : 0};
  return out;
}

// The best ramp within [begin, end): each end on a grid, then nearer.
RampFit best_ramp(const Fit& fit, std::size_t begin, std::size_t end) {
  RampFit best = fit_ramp(fit, begin, end, begin, end - 1);
  std::size_t step = std::max<std::size_t>(1, (end - begin) / kKnots);
  for (std::size_t from = begin; from + kLeastRamp < end; from += step)
    for (std::size_t to = end - 1; to >= from + kLeastRamp; to -= std::min(step, to)) {
      const RampFit tried = fit_ramp(fit, begin, end, from, to);
      if (tried.cost < best.cost) best = tried;
    }
  for (step /= 2; step >= 1; step /= 2) {
    const Ramp at = best.ramp;
    for (const auto& [df, dt] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
      const auto from =
          static_cast<std::ptrdiff_t>(at.begin) + df * static_cast<std::ptrdiff_t>(step);
      const auto to = static_cast<std::ptrdiff_t>(at.end) + dt * static_cast<std::ptrdiff_t>(step);
      if (from < static_cast<std::ptrdiff_t>(begin) || to >= static_cast<std::ptrdiff_t>(end) ||
          to < from + static_cast<std::ptrdiff_t>(kLeastRamp))
        continue;
      const RampFit tried =
          fit_ramp(fit, begin, end, static_cast<std::size_t>(from), static_cast<std::size_t>(to));
      if (tried.cost < best.cost) best = tried;
    }
  }
  return best;
}

// One past the last change of the stairs that begin with change k: all go the same way.
std::size_t end_of_stairs(const Fit& fit, std::size_t k) {
  const bool up = fit.level(k) > fit.level(k - 1);
  std::size_t next = k + 1;
  while (next <= fit.changes() && (fit.level(next) > fit.level(next - 1)) == up) ++next;
  return next;
}

// Reports whether one ramp fits runs of changes k to next - 1 better than these steps, price
// included. Sets `found`.
bool ramp_explains(const Fit& fit, std::size_t k, std::size_t next, RampFit& found) {
  const std::size_t begin = fit.bounds[k - 1];
  const std::size_t end = fit.bounds[next];
  if (end - begin <= kLeastRamp + 1) return false;
  double steps = 0;
  for (std::size_t piece = k - 1; piece < next; ++piece)
    steps += fit.sums.cost(fit.bounds[piece], fit.bounds[piece + 1]);
  const auto count = static_cast<double>(next - k);
  found = best_ramp(fit, begin, end);
  if (std::abs(found.ramp.after - found.ramp.before) < kLeastTotal * fit.noise.marginal())
    return false;
  // A ramp has a place, a slope and an end: it is worth one change and a half.
  return found.cost + (1 + kSurely) * fit.penalty < steps + count * fit.penalty;
}

// Cheap: whether the last third of the values is off the first. A drift of kLeastTotal deviations
// moves it by one, so half of that lets none pass unseen.
bool may_trend(std::span<const double> values, double marginal) {
  const std::size_t third = values.size() / 3;
  double moved = 0;
  for (std::size_t i = 0; i < third; ++i) moved += values[values.size() - 1 - i] - values[i];
  return std::abs(moved) > kLeastTotal / 3 * marginal * static_cast<double>(third);
}

// Mann and Kendall's z and Theil and Sen's slope per run; the slope is 0 when z is not significant.
struct Trend {
  double z = 0;
  double slope = 0;
};

// The variance of the score is widened by (1 + rho) / (1 - rho) for correlated neighbours.
Trend trend_of(std::span<const double> values, double rho) {
  const std::size_t n = values.size();
  double score = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      score +=
          static_cast<double>(values[j] > values[i]) - static_cast<double>(values[j] < values[i]);
  const auto m = static_cast<double>(n);
  const double variance = m * (m - 1) * (2 * m + 5) / 18 * (1 + rho) / (1 - rho);
  Trend trend{.z = score / std::sqrt(variance), .slope = 0};
  if (std::abs(trend.z) < kTrendZ) return trend;
  std::vector<double> slopes;
  slopes.reserve(n * (n - 1) / 2);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  trend.slope = median_in(slopes);
  return trend;
}

}  // namespace

std::vector<Ramp> stairs_to_ramps(Fit& fit) {
  std::vector<Ramp> ramps;
  for (std::size_t k = 1; k <= fit.changes();) {
    const std::size_t next = end_of_stairs(fit, k);
    RampFit found;
    if (!ramp_explains(fit, k, next, found)) {
      k = next;
      continue;
    }
    ramps.push_back(found.ramp);
    const auto at = [&](std::size_t b) {
      return fit.bounds.begin() + static_cast<std::ptrdiff_t>(b);
    };
    fit.bounds.erase(at(k), at(next));
  }
  return ramps;
}

void find_late_drift(const Fit& fit, std::vector<Ramp>& ramps) {
  const std::size_t piece = fit.bounds[fit.bounds.size() - 2];
  const std::size_t begin = std::max(piece, fit.size() - std::min(fit.size(), kLateRuns));
  if (fit.size() - begin < kLeastLateRuns) return;
  // The last piece is part of a ramp that is reported.
  if (!ramps.empty() && ramps.back().begin >= piece) return;
  const auto values = std::span<const double>(fit.clipped).subspan(begin);
  if (!may_trend(values, fit.noise.marginal())) return;
  const Trend trend = trend_of(values, fit.noise.rho);
  const double length = static_cast<double>(values.size() - 1);
  const double total = trend.slope * length;
  if (std::abs(trend.z) < kTrendZ) return;
  if (std::abs(total) < std::max(2 * fit.least_step, kLeastTotal * fit.noise.marginal())) return;
  const double middle = median(values);
  ramps.push_back({.begin = begin,
                   .end = fit.size() - 1,
                   .before = middle - total / 2,
                   .after = middle + total / 2,
                   .deviation = std::abs(total / trend.z)});
}

namespace {

constexpr std::size_t kWindow = 5;

// By seven comparisons of a sorting network that leaves the middle in place.
double median_of_five(double a, double b, double c, double d, double e) {
  const auto order = [](double& x, double& y) {
    const double low = std::min(x, y);
    y = std::max(x, y);
    x = low;
  };
  order(a, b);
  order(d, e);
  // A is the least of four: not the median.
  order(a, d);
  // `e` is now the largest of four.
  order(b, e);
  order(b, c);
  order(c, d);
  order(b, c);
  return c;
}

}  // namespace

std::vector<double> running_median(std::span<const double> values) {
  std::vector<double> out(values.begin(), values.end());
  const std::size_t n = values.size();
  if (n < kWindow) return out;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t begin = std::min(i < 2 ? 0 : i - 2, n - kWindow);
    const double* v = values.data() + begin;
    out[i] = median_of_five(v[0], v[1], v[2], v[3], v[4]);
  }
  return out;
}

Clipped clip_spikes(std::span<const double> values, double limit) {
  Clipped out{.values = {values.begin(), values.end()}, .indices = {}};
  if (values.size() < kWindow) return out;
  const std::vector<double> middle = running_median(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double away = values[i] - middle[i];
    if (std::abs(away) <= limit) continue;
    out.values[i] = middle[i] + std::copysign(limit, away);
    out.indices.push_back(i);
  }
  return out;
}

namespace {

// Longest piece, in runs, that may be a cluster of spikes.
constexpr std::size_t kShortPiece = 8;
// Expected number of such clusters in the whole series, above which a piece is one.
constexpr double kChance = 0.01;
// Distance of a spike from its level, in deviations.
constexpr double kFar = 4;
// Deviations that a run of a raised level is above the old one.
constexpr double kRaised = 1.5;
// One or two far runs are spikes by definition.
constexpr double kLeastFar = 3;

// n over k.
double choose(double n, double k) {
  double out = 1;
  for (double i = 1; i <= k; ++i) out *= (n - k + i) / i;
  return out;
}

// The level around piece k, when it is one: the old level came back, or nothing follows yet.
std::optional<double> surrounding(const Fit& fit, std::size_t k) {
  const std::size_t last = fit.bounds.size() - 2;
  if (last == 0) return std::nullopt;
  if (k == 0) return fit.level(1);
  const double before = fit.level(k - 1);
  if (k == last) return before;
  const double after = fit.level(k + 1);
  const double height = std::abs(fit.level(k) - (before + after) / 2);
  return std::abs(after - before) < 0.5 * height ? std::optional((before + after) / 2)
                                                 : std::nullopt;
}

// Reports whether piece k is nothing but spikes: short, its surroundings are one level, and chance
// explains so many spikes in one place.
bool is_cluster(const Fit& fit, std::size_t k) {
  const std::size_t begin = fit.bounds[k];
  const std::size_t end = fit.bounds[k + 1];
  const auto n = static_cast<double>(fit.size());
  const auto length = static_cast<double>(end - begin);
  if (end - begin > kShortPiece || n < 4 * length) return false;
  const auto level = surrounding(fit, k);
  if (!level) return false;
  const auto piece = fit.raw.subspan(begin, end - begin);
  const double height = median(piece) - *level;
  const double sign = height < 0 ? -1 : 1;
  const auto beyond = [&](double value, double base, double limit) {
    return sign * (value - base) > limit;
  };
  const double spike = kFar * fit.noise.scale;
  if (std::ranges::none_of(piece, [&](double v) { return beyond(v, *level, spike); })) return false;
  const double raised = std::max(std::abs(height) / 2, kRaised * fit.noise.scale);
  const auto count = static_cast<double>(
      std::ranges::count_if(piece, [&](double v) { return beyond(v, *level, raised); }));
  if (count < kLeastFar) return true;
  // The rate counts the piece itself once, so that it is never 0.
  double elsewhere = 1;
  for (std::size_t other = 0; other + 1 < fit.bounds.size(); ++other) {
    if (other == k) continue;
    const double base = fit.level(other);
    for (std::size_t i = fit.bounds[other]; i < fit.bounds[other + 1]; ++i)
      if (beyond(fit.raw[i], base, raised)) ++elsewhere;
  }
  const double rate = elsewhere / (n - length);
  const double places = k == 0 || k + 2 == fit.bounds.size() ? 1 : n;
  return places * choose(length, count) * std::pow(rate, count) > kChance;
}

// Joins piece k with the surrounding level and marks its far values as spikes.
void absorb(Fit& fit, std::size_t k) {
  const double level = *surrounding(fit, k);
  const double limit = kFar * fit.noise.scale;
  for (std::size_t i = fit.bounds[k]; i < fit.bounds[k + 1]; ++i) {
    if (std::abs(fit.raw[i] - level) <= limit) continue;
    fit.clipped[i] = level + std::copysign(limit, fit.raw[i] - level);
    if (!std::ranges::binary_search(fit.spikes, i))
      fit.spikes.insert(std::ranges::upper_bound(fit.spikes, i), i);
  }
  const auto at = [&](std::size_t b) {
    return fit.bounds.begin() + static_cast<std::ptrdiff_t>(b);
  };
  if (k > 0 && k + 2 < fit.bounds.size()) {
    fit.bounds.erase(at(k), at(k + 2));
  } else {
    fit.bounds.erase(k == 0 ? at(1) : at(k));
  }
  fit.sums = PrefixSums(fit.clipped);
}

}  // namespace

void drop_spike_clusters(Fit& fit) {
  for (std::size_t k = 0; fit.changes() > 0 && k + 1 < fit.bounds.size();) {
    if (!is_cluster(fit, k)) {
      ++k;
      continue;
    }
    absorb(fit, k);
    // The joined piece and its neighbours are judged again.
    k = k > 1 ? k - 2 : 0;
  }
}

}  // namespace railgauge::analysis
