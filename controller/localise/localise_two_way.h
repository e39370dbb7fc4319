// The contribution of each node to the figures that it sends, and to those that it receives: a
// mean, a row's and a column's effect, by least squares over whatever cells there are. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace railgauge::localise {

// Effects of a row or column that has fewer than two figures are not known: such figures are left
// out, since an effect of their own would explain them whole.
struct TwoWay {
  std::vector<double> rows{};     // effects, about a mean of 0; by node
  std::vector<double> columns{};  // the same
  std::vector<bool> row_known{};
  std::vector<bool> column_known{};
  std::vector<double> residuals{};  // by cell; NaN: no figure, or left out
  double mean = 0;
  double figures = 0;           // that were fitted
  double residual_squares = 0;  // their sum
  double residual_degrees = 0;  // figures less the effects; 0 or less: nothing is left to judge by
};

// `values` is from-major, n squared; NaN: no figure.
TwoWay fit_two_way(const std::vector<double>& values, std::size_t n);

}  // namespace railgauge::localise
