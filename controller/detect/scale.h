// The scale on which the detector judges a series. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace railgauge::analysis {

// Conversion of measured values to the detector's scale.
struct Scaled {
  // Values of the runs that have one, in order, on the detector's scale.
  std::vector<double> values;
  // Index in the input of each of these values.
  std::vector<std::size_t> indices;
  bool logarithmic = false;
  // Divisor of the values where they are not logarithms.
  double unit = 1;
  // Least deviation that noise is taken to have, in the values' scale.
  double floor = 0;

  [[nodiscard]] double original(double scaled) const;
  // Returns the values by run, NaN where one is missing.
  [[nodiscard]] std::vector<double> on_axis(std::size_t runs) const;
};

// Takes logarithms where all values are positive and of one order of magnitude, so that effects are
// fractions; else the values themselves. NaN and infinities are missing runs. `least_noise` as in
// DetectorSettings.
Scaled to_scale(std::span<const double> values, double least_noise);

}  // namespace railgauge::analysis
