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
// Where a series is like a random walk a step is so many deviations of what it moves by itself.
constexpr double kJumpZ = 4;
// Runs beside a change where its jump may be.
constexpr std::size_t kBeside = 2;
// A correlation of neighbours, its own or that of its peers, from which on it is; a random walk has
// 1, and 365 runs of AR(1) 0.9 are estimated at 0.6 and more. In the families of the benchmark the
// two constants leave 19 % of the random walks and 12 % of AR(1) 0.9 with a change; from 0.75 on it
// was 24 % and 21 %. The price: 0.78 of the steps of 3 in AR(1) 0.5 are found, and 0.84 were.
constexpr double kWalking = 0.65;
// Places within this share of the best gain count as possible places.
constexpr double kNearlyBest = 0.9;

// Mean with values at most `reach` from their median: robust, and precise for clean noise.
double pulled_mean(std::span<const double> values, double reach) {
  const double middle = median(values);
  double sum = 0;
  for (const double v : values) sum += std::clamp(v - middle, -reach, reach);
  return middle + sum / static_cast<double>(values.size());
}

// Correlation of neighbours in one piece as far as it is below 0, pulled to 0 where the piece is
// short. Only where a series alternates are its means so precise, and it may cease to.
double alternation(std::span<const double> piece, const Fit& fit) {
  if (fit.noise.rho >= 0) return fit.noise.rho;
  const double middle = median(piece);
  const double reach = kPull * fit.noise.marginal();
  double squares = 0;
  double products = 0;
  double last = 0;
  for (const double v : piece) {
    const double away = std::clamp(v - middle, -reach, reach);
    squares += away * away;
    products += away * last;
    last = away;
  }
  const double raw = squares > 0 ? std::clamp(products / squares, -kMaxRho, 0.0) : 0;
  return shy_rho(raw, static_cast<double>(piece.size()));
}

// The deviation of the difference of two neighbouring triples where the series is like a random
// walk; else 0.
double wander_of(const Fit& fit) {
  if (std::max(fit.noise.raw_rho, fit.noise.rho) < kWalking || fit.size() < 2 * kLeastPiece + 2)
    return 0;
  std::vector<double> moves;
  for (std::size_t at = kLeastPiece; at + kLeastPiece <= fit.size(); ++at)
    moves.push_back(fit.sums.mean(at, at + kLeastPiece) - fit.sums.mean(at - kLeastPiece, at));
  return mad_scale(moves, 0);
}

// How little a change is shown: above 1 it has to go.
double weakness(const Fit& fit, std::size_t k) {
  const Evidence evidence = evidence_of(fit, fit.bounds[k - 1], fit.bounds[k], fit.bounds[k + 1]);
  const double step = std::abs(fit.level(k) - fit.level(k - 1));
  const double by_size = fit.least_step_at(fit.bounds[k]) / std::max(step, 1e-300);
  // On a scale where p = kKneeProof is 1 and all smaller ones are below, comparable with sizes.
  const double by_chance = std::log(kKneeProof) / std::log(std::min(evidence.p, 0.9));
  return std::max({by_size, by_chance,
                   fit.wander > 0 ? kJumpZ * fit.wander / local_jump(fit, fit.bounds[k]) : 0});
}

}  // namespace

std::span<const double> Fit::piece(std::size_t k) const {
  return std::span(clipped).subspan(bounds[k], bounds[k + 1] - bounds[k]);
}

double Fit::level(std::size_t k) const {
  // The median of runs that alternate is one of their two levels.
  return noise.rho > kAlternating ? median(piece(k)) : sums.mean(bounds[k], bounds[k + 1]);
}

double Fit::least_step_at(std::size_t at) const {
  if (curve.empty()) return least_step;
  const std::size_t before = std::max<std::size_t>(at, 1) - 1;
  const std::size_t after = std::min(at + 1, curve.size() - 1);
  const double moved = std::abs(curve[after] - curve[before]) / static_cast<double>(after - before);
  return std::max(least_step, static_cast<double>(kLeastPiece) * moved);
}

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
  const double rho = std::max({fit.noise.rho, alternation(values.subspan(begin, at - begin), fit),
                               alternation(values.subspan(at, end - at), fit)});
  out.deviation =
      fit.noise.scale * widen *
      std::sqrt(fit.noise.variance_of_mean(a, rho) + fit.noise.variance_of_mean(b, rho));
  const double independent = (a + b) * (1 - rho) / (1 + rho);
  out.p =
      selected_split_p(out.shift / out.deviation, independent, static_cast<double>(kLeastPiece));
  return out;
}

void drop_unproven(Fit& fit) {
  fit.wander = wander_of(fit);
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

double local_jump(const Fit& fit, std::size_t at) {
  double largest = 1e-300;
  for (std::size_t place = at - std::min(at, kBeside); place <= at + kBeside; ++place) {
    if (place < kLeastPiece || place + kLeastPiece > fit.size()) continue;
    largest = std::max(largest, std::abs(fit.sums.mean(place, place + kLeastPiece) -
                                         fit.sums.mean(place - kLeastPiece, place)));
  }
  return largest;
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
  if (n < kWindow + 2) return out;
  for (std::size_t i = 2; i + 2 < n; ++i) {
    const double* v = values.data() + i;
    out[i] = median_of_five(v[-2], v[-1], v[0], v[1], v[2]);
  }
  const auto end_value = [&](std::size_t at, double near, double beyond) {
    const double line = 2 * near - beyond;
    out[at] = std::clamp(values[at], std::min(near, line), std::max(near, line));
  };
  end_value(1, out[2], out[3]);
  end_value(0, out[2], out[4]);
  end_value(n - 2, out[n - 3], out[n - 4]);
  end_value(n - 1, out[n - 3], out[n - 5]);
  return out;
}

Clipped clip_spikes(std::span<const double> values, double limit) {
  Clipped out{.values = {values.begin(), values.end()}, .indices = {}};
  if (values.size() < kWindow + 2) return out;
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
  const auto piece = std::span<const double>(fit.raw).subspan(begin, end - begin);
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
