// From values as measured to what the detector looks at. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace railgauge::analysis {

struct Scaled {
  std::vector<double> values;        // of the runs that are there, in order
  std::vector<std::size_t> indices;  // where each stood in the input
  bool logarithmic = false;
  double unit = 1;   // what the values were divided by where they are no logarithms
  double floor = 0;  // least deviation that noise is taken to have, in the values' scale

  [[nodiscard]] double original(double scaled) const;
};

// Logarithms where all values are positive and of one order of magnitude, so that effects are
// fractions; else the values themselves. `resolution` 0 is estimated from the values' own steps.
Scaled to_scale(std::span<const double> values, double resolution);

}  // namespace railgauge::analysis
