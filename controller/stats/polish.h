// A matrix of pairs taken apart into node, node and path. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace railgauge::analysis {

// value = overall + row + column + residual, for each cell.
struct Polish {
  double overall = 0;
  // Effect of each sending side.
  std::vector<double> rows;
  // Effect of each receiving side.
  std::vector<double> columns;
  // Residuals of the paths, by row; NaN where nothing was measured.
  std::vector<double> residuals;
};

// Tukey's median polish: one bad port shows in its own effect and does not accuse its partners.
// `values` by row, rows * columns of them (logarithms; NaN is missing, as on a diagonal).
Polish median_polish(std::span<const double> values, std::size_t rows, std::size_t columns);

}  // namespace railgauge::analysis
