// Robust additive fit of one layer: the losses of pairs as centre + sending side + receiving side.
// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "controller/parts/levels.h"

namespace railgauge::parts {

// The losses of one layer, which is one rail and one kind of memory.
struct LayerLosses {
  std::vector<std::uint32_t> from{};
  std::vector<std::uint32_t> to{};
  // Against the centre of the figure's class.
  std::vector<float> loss{};
};

struct LayerFit {
  Level centre{};
  // Standard deviation of a figure about the fit.
  double scale = 0;
  // By node; unknown without figures.
  std::vector<Level> sends{};
  std::vector<Level> receives{};
  // By figure, in the order of the input.
  std::vector<float> left_over{};
};

// Fits by medians first, then by means with Huber's weights (Huber 1964), some passes over the
// figures. Levels of ends with few figures are pulled to 0, so that a figure of two unknown ends
// accuses both by half. Where ends have few figures, an end that all its figures show clearly takes
// its whole loss, and its partners none. Time and memory are linear in the figures.
LayerFit fit_layer(const LayerLosses& losses, std::size_t nodes);

// Returns the weighted mean of losses of one group about `centre` by Huber's weights; unknown
// without losses.
Level huber_mean(const float* losses, std::size_t count, double scale);

// Returns the value in the middle; reorders. 0 for none.
float middle_of(std::vector<float>& values);
// Returns the larger of the standard deviations of normal values with the same median distance from
// 0, and with the same ninth decile of it: rounded figures and two modes have no spread by the
// median alone. Reorders. 0 for none.
double spread_of(std::vector<float>& values);

}  // namespace railgauge::parts
