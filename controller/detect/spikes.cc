#include "controller/detect/spikes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {
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

// Whether piece k is nothing but spikes: short, its surroundings are one level, and chance explains
// so many spikes in one place.
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
