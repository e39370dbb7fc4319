#include "controller/stats/spread.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "controller/stats/distributions.h"

namespace railgauge::analysis {
namespace {

// Least number of runs on each side of a split.
constexpr std::size_t kLeastSide = 12;
// Deviations up to which a residual counts.
constexpr double kSpreadCap = 3;
constexpr double kSplitProof = 1e-4;
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
  if (split.at == 0 || p > kSplitProof) return;
  split.at = likeliest_place(sizes);
  const auto before = sizes.first(split.at);
  const auto after = sizes.subspan(split.at);
  split_spread(before, offset, factor, depth - 1, found);
  const double a = mean_of(before);
  const double b = mean_of(after);
  // From a normal's mean absolute value to its standard deviation.
  const double to_sigma = std::sqrt(std::numbers::pi / 2);
  if (std::max(a, b) > kRatio * std::min(a, b) && fligner_killeen_p(before, after) < kSplitProof)
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
  const double cap = kSpreadCap * noise.marginal();
  std::vector<double> sizes(residuals.size());
  std::ranges::transform(residuals, sizes.begin(),
                         [&](double r) { return std::min(std::abs(r), cap); });
  // Squares of correlated neighbours are correlated by rho^2.
  const double square = noise.rho * noise.rho;
  split_spread(sizes, 0, (1 + square) / (1 - square), kMaxDepth, found);
  return found;
}

}  // namespace railgauge::analysis
