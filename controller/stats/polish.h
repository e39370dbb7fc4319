// A matrix of pairs taken apart into node, node and path. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace railgauge::analysis {

struct Polish {
  double overall = 0;
  std::vector<double> rows;       // effect of each sending side
  std::vector<double> columns;    // effect of each receiving side
  std::vector<double> residuals;  // of the paths, by row; NaN where nothing was measured
};

// Tukey's median polish: one bad port shows in its own effect and does not accuse its partners.
// `values` by row, rows * columns of them (logarithms; NaN is missing, as on a diagonal).
Polish median_polish(std::span<const double> values, std::size_t rows, std::size_t columns);

}  // namespace railgauge::analysis
