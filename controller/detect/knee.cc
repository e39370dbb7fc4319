#include "controller/detect/knee.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace railgauge::analysis {
namespace {

// Half of the best rate, twice the least time.
constexpr double kShare = 2;

}  // namespace

std::optional<double> knee_of(std::span<const CurvePoint> curve, Better better) {
  std::vector<CurvePoint> sorted(curve.begin(), curve.end());
  std::ranges::sort(sorted, {}, &CurvePoint::bytes);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const CurvePoint& point = sorted[i];
    const bool is_figure = std::isfinite(point.value) && point.value > 0 && point.bytes > 0;
    if (!is_figure || (i > 0 && point.bytes <= sorted[i - 1].bytes)) return std::nullopt;
  }
  if (sorted.size() < kLeastKneeSizes) return std::nullopt;
  // The level at which the curve counts as bent.
  const auto [least, best] = std::ranges::minmax(sorted, {}, &CurvePoint::value);
  const double level =
      std::log(better == Better::kHigher ? best.value / kShare : least.value * kShare);
  // From the largest size down, so that a dip in between belongs to the part before the knee.
  for (std::size_t i = sorted.size(); i-- > 0;) {
    if (std::log(sorted[i].value) >= level) continue;
    if (i + 1 == sorted.size()) return std::nullopt;
    const double low = std::log(sorted[i].value);
    const double share = (level - low) / (std::log(sorted[i + 1].value) - low);
    const double from = std::log(sorted[i].bytes);
    return std::exp(from + share * (std::log(sorted[i + 1].bytes) - from));
  }
  return std::nullopt;
}

Better better_knee(Better better) {
  return better == Better::kHigher ? Better::kLower : Better::kHigher;
}

}  // namespace railgauge::analysis
