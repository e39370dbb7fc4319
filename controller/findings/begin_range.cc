#include "controller/findings/begin_range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace railgauge {
namespace {

constexpr double kCover = 0.9;
// Two levels and the place are taken from the values that give the size of the noise.
constexpr std::size_t kFitted = 3;
// Relative to all that varies: what is less is rounding, and such values have no noise.
constexpr double kRounding = 1e-12;

// Sums of squares around the two levels, by the index of the first value of the new one; that of
// index 0 is around one level.
std::vector<double> squares_around_levels(std::span<const double> values) {
  std::vector<double> logs;
  double sum = 0;
  for (const double value : values) sum += logs.emplace_back(std::log(value));
  const double mean = sum / static_cast<double>(logs.size());
  double squares = 0;
  for (double& value : logs) {
    value -= mean;
    squares += value * value;
  }
  std::vector<double> out{squares};
  double before = 0;  // the sum of those behind is the negative
  for (std::size_t at = 1; at < logs.size(); ++at) {
    before += logs[at - 1];
    const auto count = static_cast<double>(at);
    const auto rest = static_cast<double>(logs.size() - at);
    out.push_back(std::max(squares - before * before * (1 / count + 1 / rest), 0.0));
  }
  return out;
}

}  // namespace

std::optional<BeginRange> begin_range(std::span<const double> values) {
  if (values.size() < kLeastForRange) return std::nullopt;
  const std::vector<double> squares = squares_around_levels(values);
  const double least = *std::min_element(squares.begin() + 1, squares.end());
  const double variance =
      std::max(least / static_cast<double>(values.size() - kFitted), kRounding * squares.front());
  const double bound = least - 2 * std::log(1 - std::sqrt(kCover)) * variance;
  BeginRange range{.first = values.size(), .last = 0};
  for (std::size_t at = 1; at < squares.size(); ++at) {
    if (squares[at] > bound) continue;
    range.first = std::min(range.first, at);
    range.last = at;
  }
  return range;
}

}  // namespace railgauge
