#include "controller/detect/season.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kLongestPeriod = 31;
// Periods that a series must hold.
constexpr std::size_t kLeastPeriods = 4;
constexpr std::size_t kLeastRuns = 12;
// Least correlation of differences one period apart; a season as large as the noise has 0.5.
constexpr double kLeastCorrelation = 0.35;
// Periods up to this one are sought in differences of neighbours, longer ones in differences of
// sums of three, in which noise is less. Noise correlates those over up to five runs.
constexpr std::size_t kShortPeriod = 5;
constexpr std::size_t kWide = 3;
// Correlation of independent values that chance hardly reaches, times the root of their number.
// About one in a hundred white, correlated and bimodal series of 90 runs has a season by chance;
// season_test has the bound.
constexpr double kBeyondChance = 2.2;
constexpr double kBeyondChanceWide = 4;
// Differences count up to so many times their mean absolute value.
constexpr double kCap = 4;
// The shortest period within this share of the best correlation is the period.
constexpr double kSamePeriod = 0.8;
// Share of the mean distance from the moving mean that must remain at most.
constexpr double kRemains = 0.8;
// Share of one period in the runs that chance takes from that distance.
constexpr double kFollowed = 0.5;

// Share of its swing that a season takes back in each period, trend included.
constexpr double kTakenBack = 0.5;

// Differences along a series, 0 where runs are missing.
struct Differences {
  std::vector<double> values{};
  // By difference, the runs from one mean to the other; 0 where it is not known.
  std::vector<double> ways{};
  // 1 where the difference is known, else 0; empty where all are.
  std::vector<double> known{};
  double count = 0;
};

// Fills in difference `i` where runs are missing: the two means are of what is there.
void add_difference(std::span<const double> values, std::size_t i, std::size_t width,
                    Differences& out) {
  std::array<double, 2> value{};
  std::array<double, 2> place{};
  std::array<double, 2> count{};
  for (std::size_t k = 0; k < 2 * width; ++k) {
    if (std::isnan(values[i + k])) continue;
    const std::size_t side = k / width;
    value[side] += values[i + k];
    place[side] += static_cast<double>(k);
    ++count[side];
  }
  if (count[0] == 0 || count[1] == 0) return;
  out.values[i] = value[1] / count[1] - value[0] / count[0];
  out.ways[i] = place[1] / count[1] - place[0] / count[0];
  out.known[i] = 1;
  ++out.count;
}

// Differences of the means of `width` neighbouring runs about an even slope, with a cap: a step is
// few of them.
Differences capped_differences(std::span<const double> values, std::size_t width) {
  Differences out;
  const std::size_t size = values.size() - 2 * width + 1;
  out.values.resize(size);
  if (std::ranges::any_of(values, [](double v) { return std::isnan(v); })) {
    out.ways.resize(size);
    out.known.resize(size);
    for (std::size_t i = 0; i < size; ++i) add_difference(values, i, width, out);
  } else {
    const auto w = static_cast<double>(width);
    for (std::size_t k = 0; k < width; ++k)
      for (std::size_t i = 0; i < size; ++i)
        out.values[i] += (values[i + width + k] - values[i + k]) / w;
    out.ways.assign(size, w);
    out.count = static_cast<double>(size);
  }
  if (out.count == 0) return out;
  const double moved = std::accumulate(out.values.begin(), out.values.end(), 0.0);
  const double slope = moved / std::accumulate(out.ways.begin(), out.ways.end(), 0.0);
  double sizes = 0;
  for (std::size_t i = 0; i < size; ++i) sizes += std::abs(out.values[i] -= slope * out.ways[i]);
  const double cap = kCap * sizes / out.count;
  for (double& d : out.values) d = std::clamp(d, -cap, cap);
  return out;
}

// Sum of the products of values `lag` apart.
double products(std::span<const double> values, std::size_t lag) {
  return std::inner_product(values.begin() + static_cast<std::ptrdiff_t>(lag), values.end(),
                            values.begin(), 0.0);
}

// The correlations at the lags [from, to], by lag; those that chance may reach are 0.
std::vector<double> correlate(const Differences& away, std::size_t from, std::size_t to,
                              double beyond) {
  std::vector<double> out(to + 1, 0);
  const double power = products(away.values, 0);
  if (!(power > 0)) return out;
  for (std::size_t lag = from; lag <= to && lag < away.values.size(); ++lag) {
    const double pairs = away.known.empty() ? static_cast<double>(away.values.size() - lag)
                                            : products(away.known, lag);
    if (pairs < 1) continue;
    const double found = products(away.values, lag) / power * away.count / pairs;
    out[lag] = found < std::max(kLeastCorrelation, beyond / std::sqrt(pairs)) ? 0 : found;
  }
  return out;
}

// The period whose differences repeat best; 0 without one. Only a peak is a period: smooth
// movements correlate over all short distances.
std::size_t likely_period(std::span<const double> values) {
  const std::size_t longest = std::min(kLongestPeriod, values.size() / kLeastPeriods);
  const std::vector<double> narrow = correlate(capped_differences(values, 1), 1,
                                               std::min(longest, kShortPeriod) + 1, kBeyondChance);
  std::vector<double> wide;
  if (longest > kShortPeriod)
    wide =
        correlate(capped_differences(values, kWide), kShortPeriod, longest + 1, kBeyondChanceWide);
  // The correlation at a peak, else 0.
  const auto peak = [&](std::size_t lag) {
    const std::vector<double>& all = lag <= kShortPeriod ? narrow : wide;
    return all[lag] > all[lag - 1] && all[lag] >= all[lag + 1] ? all[lag] : 0;
  };
  double best = 0;
  for (std::size_t lag = 2; lag <= longest; ++lag) best = std::max(best, peak(lag));
  if (best <= 0) return 0;
  std::size_t period = 2;
  while (peak(period) < kSamePeriod * best) ++period;
  return period;
}

// Fills a missing run along the line between the nearest runs a number of periods before and after
// it. Runs without one of these remain missing.
std::vector<double> filled(std::span<const double> values, std::size_t period) {
  std::vector<double> out(values.begin(), values.end());
  for (std::size_t phase = 0; phase < period; ++phase) {
    std::size_t last = values.size();
    for (std::size_t i = phase; i < values.size(); i += period) {
      if (std::isnan(values[i])) continue;
      for (std::size_t k = last + period; last < i && k < i; k += period)
        out[k] = std::lerp(values[last], values[i],
                           static_cast<double>(k - last) / static_cast<double>(i - last));
      last = i;
    }
  }
  return out;
}

// Moving means over one period; the first and last half period have none. An even period takes half
// of each end. NaN beside missing runs.
std::vector<double> moving_means(std::span<const double> values, std::size_t period) {
  const std::size_t half = period / 2;
  const double ends = period % 2 == 0 ? 0.5 : 1;
  std::vector<double> out(values.size() - 2 * half);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto window = values.subspan(i, 2 * half + 1);
    // About the middle value, so that large levels lose no digits.
    const double base = window[half];
    double sum = 0;
    for (std::size_t k = 1; k < 2 * half; ++k) sum += window[k] - base;
    sum += ends * (window.front() - base + window.back() - base);
    out[i] = base + sum / static_cast<double>(period);
  }
  return out;
}

// The usual move of the level in one period.
double usual_move(std::span<const double> means, std::size_t period) {
  std::vector<double> moves;
  for (std::size_t i = period; i < means.size(); ++i)
    if (const double move = means[i] - means[i - period]; !std::isnan(move)) moves.push_back(move);
  return moves.empty() ? 0 : median_in(moves);
}

// Reports whether the pattern takes back enough of its swing while the level moves by `move` a
// period. Stairs do not.
bool comes_back(std::span<const double> pattern, double move) {
  const auto [low, high] = std::ranges::minmax(pattern);
  const std::size_t period = pattern.size();
  const double way = move < 0 ? -1 : 1;
  double furthest = -std::numeric_limits<double>::infinity();
  double back = 0;
  for (std::size_t i = 0; i < 2 * period; ++i) {
    const double level =
        way * (pattern[i % period] + move * static_cast<double>(i) / static_cast<double>(period));
    furthest = std::max(furthest, level);
    back = std::max(back, furthest - level);
  }
  return back >= kTakenBack * (high - low);
}

// The medians of `away` by phase about their mean; a phase without runs has 0. Value 0 of `away` is
// of phase `first`.
std::vector<double> pattern_of(std::span<const double> away, std::size_t period,
                               std::size_t first) {
  std::vector<double> pattern(period, 0);
  double sum = 0;
  double count = 0;
  std::vector<bool> has_runs(period, false);
  for (std::size_t phase = 0; phase < period; ++phase) {
    std::vector<double> same;
    for (std::size_t i = (phase + period - first) % period; i < away.size(); i += period)
      if (!std::isnan(away[i])) same.push_back(away[i]);
    if (same.empty()) continue;
    has_runs[phase] = true;
    sum += pattern[phase] = median_in(same);
    ++count;
  }
  for (std::size_t phase = 0; phase < period; ++phase)
    if (has_runs[phase]) pattern[phase] -= sum / count;
  return pattern;
}

}  // namespace

Season find_season(std::span<const double> values, double floor) {
  if (values.size() < kLeastRuns) return {};
  const std::size_t period = likely_period(values);
  if (period == 0) return {};
  const std::size_t half = period / 2;
  const std::vector<double> means = moving_means(filled(values, period), period);
  std::vector<double> away(means.size());
  for (std::size_t i = 0; i < away.size(); ++i) away[i] = values[i + half] - means[i];
  Season out{.period = period, .pattern = pattern_of(away, period, half % period)};
  const auto [low, high] = std::ranges::minmax(out.pattern);
  if (high - low < floor || !comes_back(out.pattern, usual_move(means, period))) return {};
  double before = 0;
  double after = 0;
  double count = 0;
  for (std::size_t i = 0; i < away.size(); ++i) {
    if (std::isnan(away[i])) continue;
    before += std::abs(away[i]);
    after += std::abs(away[i] - out.at(i + half));
    ++count;
  }
  // Medians of few values follow their noise.
  const double followed = kFollowed * static_cast<double>(period) / std::max(1.0, count);
  if (!(after < (kRemains - followed) * before)) return {};
  return out;
}

}  // namespace railgauge::analysis
