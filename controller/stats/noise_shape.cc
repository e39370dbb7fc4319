#include "controller/stats/noise_shape.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "controller/stats/noise.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kShares = 5;  // a group has one of so many, or more
constexpr double kModesApart = 4.5;
constexpr double kFar = 5;
constexpr double kLeastScale = 5e-4;  // of the median
constexpr double kSkewed = 0.45;

// One side of a cut.
struct Group {
  double mean = 0;
  double variance = 0;
};

Group group_of(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  Group out{.mean = std::accumulate(values.begin(), values.end(), 0.0) / count};
  for (const double value : values)
    out.variance += (value - out.mean) * (value - out.mean) / (count - 1);
  return out;
}

// The rules of the header, in its order. Each gets the figures sorted.
bool is_modal(std::span<const double> sorted) {
  const std::size_t least = (sorted.size() + kShares - 1) / kShares;
  std::size_t cut = least;
  for (std::size_t i = least; i + least <= sorted.size(); ++i)
    if (sorted[i] - sorted[i - 1] > sorted[cut] - sorted[cut - 1]) cut = i;
  const Group low = group_of(sorted.first(cut));
  const Group high = group_of(sorted.subspan(cut));
  const double apart = high.mean - low.mean;
  return apart > 0 &&
         apart * apart >= kModesApart * kModesApart * (low.variance + high.variance) / 2;
}

bool has_outliers(std::span<const double> sorted) {
  const double middle = median(sorted);
  const double scale = std::max(mad_scale(sorted, middle), kLeastScale * std::abs(middle));
  return std::max(sorted.back() - middle, middle - sorted.front()) > kFar * scale;
}

bool is_skewed(std::vector<double> values) {
  const double low = quantile_in(values, 0.1);
  const double middle = quantile_in(values, 0.5);
  const double high = quantile_in(values, 0.9);
  return high > low && std::abs(low + high - 2 * middle) > kSkewed * (high - low);
}

}  // namespace

std::optional<NoiseShape> noise_shape(std::span<const double> figures) {
  const bool is_finite =
      std::ranges::all_of(figures, [](double value) { return std::isfinite(value); });
  if (figures.size() < kLeastForNoise || !is_finite) return std::nullopt;
  std::vector<double> sorted(figures.begin(), figures.end());
  std::ranges::sort(sorted);
  if (is_modal(sorted)) return NoiseShape::kModal;
  if (has_outliers(sorted)) return NoiseShape::kOutliers;
  if (sorted.size() >= kLeastForSkew && is_skewed(std::move(sorted))) return NoiseShape::kSkewed;
  return NoiseShape::kOk;
}

}  // namespace railgauge::analysis
