// The knee of a curve over message sizes: the size at which the curve bends. Pure.
#pragma once

#include <optional>
#include <span>

#include "controller/stats/metric_traits.h"

namespace railgauge::analysis {

// One point of a curve: message size in bytes and its figure.
struct CurvePoint {
  double bytes = 0;
  double value = 0;
};

// Fewest sizes that show a knee.
inline constexpr std::size_t kLeastKneeSizes = 4;
// Least relevant move of a knee, as a share of its size. A smaller move is no change of protocol.
inline constexpr double kKneeDelta = 0.25;

// Returns the knee in bytes: the size from which a rate is at least half of its best, or a time at
// least twice its least. Interpolates between two sizes on a line through logarithms. A slowdown of
// all sizes by the same share does not move the knee; a moved switch between protocols does.
// Absent: too few sizes, a size twice, a figure that is not positive, or no bend between the ends.
std::optional<double> knee_of(std::span<const CurvePoint> curve, Better better);

// Returns the better direction of a knee: smaller sizes for a rate, larger sizes for a time.
Better better_knee(Better better);

}  // namespace railgauge::analysis
