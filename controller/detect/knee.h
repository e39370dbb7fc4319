// Where a curve over message sizes bends. Pure.
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

// Fewer sizes show no bend.
inline constexpr std::size_t kLeastKneeSizes = 4;
// Least relevant move of a knee, as a share of its size. A smaller move is no change of protocol.
inline constexpr double kKneeDelta = 0.25;

// In bytes. For a rate the size from which on it is half of its best, for a time the size from
// which on it is twice its least; between two sizes on a line through logarithms. All sizes slower
// by the same share leave it where it is; a switch between protocols that moves takes it along.
// Absent: too few sizes, a figure that is not positive, or a curve that bends nowhere between its
// ends.
std::optional<double> knee_of(std::span<const CurvePoint> curve, Better better);

// Which way a knee gets worse: a rate's to larger sizes, a time's to smaller ones.
Better better_knee(Better better);

}  // namespace railgauge::analysis
