#include "controller/detect/season.h"

#include <algorithm>
#include <cmath>
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
// A season is found in 0 to 3 % of 400 white, correlated and bimodal series of 12, 30, 90 and 365
// runs.
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

// Differences of the sums of `width` neighbouring values about their mean, with a cap: a step is
// few of them.
std::vector<double> capped_differences(std::span<const double> values, std::size_t width) {
  std::vector<double> out(values.size() - 2 * width + 1);
  for (std::size_t i = 0; i < out.size(); ++i)
    for (std::size_t k = 0; k < width; ++k) out[i] += values[i + width + k] - values[i + k];
  const auto n = static_cast<double>(out.size());
  const double mean = std::accumulate(out.begin(), out.end(), 0.0) / n;
  double size = 0;
  for (double& d : out) size += std::abs(d -= mean);
  const double cap = kCap * size / n;
  for (double& d : out) d = std::clamp(d, -cap, cap);
  return out;
}

// Fills in the correlations of `away` at the lags [from, to]; those that chance may reach are 0.
void correlate(std::span<const double> away, std::size_t from, std::size_t to, double beyond,
               std::vector<double>& correlation) {
  const double power = std::inner_product(away.begin(), away.end(), away.begin(), 0.0);
  if (!(power > 0)) return;
  for (std::size_t lag = from; lag <= to && lag < away.size(); ++lag) {
    const double sum = std::inner_product(away.begin() + static_cast<std::ptrdiff_t>(lag),
                                          away.end(), away.begin(), 0.0);
    const auto pairs = static_cast<double>(away.size() - lag);
    const double found = sum / power * static_cast<double>(away.size()) / pairs;
    const double least = std::max(kLeastCorrelation, beyond / std::sqrt(pairs));
    correlation[lag] = found < least ? 0 : found;
  }
}

// The period whose differences repeat best; 0 without one. Only a peak is a period: smooth
// movements correlate over all short distances.
std::size_t likely_period(std::span<const double> values) {
  const std::size_t longest = std::min(kLongestPeriod, values.size() / kLeastPeriods);
  std::vector<double> correlation(longest + 2, 0);
  correlate(capped_differences(values, 1), 1, std::min(longest + 1, kShortPeriod), kBeyondChance,
            correlation);
  if (longest > kShortPeriod)
    correlate(capped_differences(values, kWide), kShortPeriod + 1, longest + 1, kBeyondChanceWide,
              correlation);
  const auto is_peak = [&](std::size_t lag) {
    return correlation[lag] > correlation[lag - 1] && correlation[lag] >= correlation[lag + 1];
  };
  double best = 0;
  for (std::size_t lag = 2; lag <= longest; ++lag)
    if (is_peak(lag)) best = std::max(best, correlation[lag]);
  if (best <= 0) return 0;
  for (std::size_t lag = 2; lag <= longest; ++lag)
    if (is_peak(lag) && correlation[lag] >= kSamePeriod * best) return lag;
  return 0;
}

// Distances from the moving mean over one period; the first and last half period have none. An even
// period takes half of each end.
std::vector<double> about_moving_mean(std::span<const double> values, std::size_t period) {
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
    out[i] = -sum / static_cast<double>(period);
  }
  return out;
}

}  // namespace

Season find_season(std::span<const double> values) {
  if (values.size() < kLeastRuns) return {};
  const std::size_t period = likely_period(values);
  if (period == 0) return {};
  const std::vector<double> away = about_moving_mean(values, period);
  const std::size_t half = period / 2;
  Season out{.period = period, .pattern = std::vector<double>(period, 0)};
  for (std::size_t phase = 0; phase < period; ++phase) {
    std::vector<double> same;
    for (std::size_t i = (phase + period - half % period) % period; i < away.size(); i += period)
      same.push_back(away[i]);
    if (same.empty()) return {};
    out.pattern[phase] = median_in(same);
  }
  const double mean =
      std::accumulate(out.pattern.begin(), out.pattern.end(), 0.0) / static_cast<double>(period);
  for (double& part : out.pattern) part -= mean;
  double before = 0;
  double after = 0;
  for (std::size_t i = 0; i < away.size(); ++i) {
    before += std::abs(away[i]);
    after += std::abs(away[i] - out.pattern[(i + half) % period]);
  }
  // Medians of few values follow their noise.
  const double followed =
      kFollowed * static_cast<double>(period) / static_cast<double>(away.size());
  if (!(after < (kRemains - followed) * before)) return {};
  return out;
}

}  // namespace railgauge::analysis
