// Where a step from one level to another may have begun. Pure; thread safe.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace railgauge {

// Indices of the first and of the last figure that may be the first one of the new level.
struct BeginRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

// The range that has the begin with 90 % or more, for one step in independent normal noise of one
// size: from the first to the last index whose likelihood is within -2 ln(1 - sqrt(0.9)) of the
// best one's, by twice the logarithm (Siegmund, Annals of Statistics 16, 1988). `values` are
// positive; they are compared by their logarithms. Absent: fewer than kLeastForRange values.
inline constexpr std::size_t kLeastForRange = 6;
std::optional<BeginRange> begin_range(std::span<const double> values);

}  // namespace railgauge
