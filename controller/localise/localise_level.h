// The level and the scatter of a layer's figures without a fault: by medians and quartiles of
// samples, so that slow figures hardly bend them.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "controller/localise/localise_cells.h"

namespace railgauge::localise {

// A class with fewer figures has no median of its own.
inline constexpr std::size_t kSmallClass = 4;

// A figure that was measured.
// Excludes NaN, infinities, 0 and negative figures.
inline bool usable(float value) {
  // False for NaN and for infinity.
  return value > 0 && value <= std::numeric_limits<float>::max();
}

// The medians inside a leaf and across leaves, in the layer's unit; 0: no figure at all.
std::array<double, 2> centres_of(const Layer& layer, const Topology& topology);

// The scatter of one figure, as a share of its class's centre.
double noise_of(const Layer& layer, const Topology& topology, const std::array<double, 2>& centres);

// The middle one of `values`, the upper one where their number is even; 0 where there is none.
// Reorders them. It is one of the values, which an interpolated median is not.
double upper_median(std::vector<double>& values);

// The value of which `share` of the others lie below; reorders them. They must be finite and not
// be none.
double quantile(std::vector<float>& values, double share);

}  // namespace railgauge::localise
