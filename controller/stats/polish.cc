#include "controller/stats/polish.h"

#include <algorithm>
#include <cmath>

#include "kernels/core/base/result.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {
namespace {

constexpr int kMaxRounds = 20;
constexpr double kSettled = 1e-9;

// Median without the cells that were not measured; 0 where none was. Reorders and shortens
// `scratch`.
double median_of_present(std::vector<double>& scratch) {
  std::erase_if(scratch, [](double v) { return !std::isfinite(v); });
  return scratch.empty() ? 0 : median_in(scratch);
}

// Takes the median out of each line of the residuals and puts it into the line's effect. Returns
// the largest that was moved.
double sweep(std::vector<double>& residuals, std::vector<double>& effects, std::size_t across,
             std::size_t line_stride, std::size_t step) {
  double largest = 0;
  std::vector<double> line;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    line.clear();
    for (std::size_t j = 0; j < across; ++j) line.push_back(residuals[i * line_stride + j * step]);
    const double middle = median_of_present(line);
    for (std::size_t j = 0; j < across; ++j) residuals[i * line_stride + j * step] -= middle;
    effects[i] += middle;
    largest = std::max(largest, std::abs(middle));
  }
  return largest;
}

// Moves the median of the effects to `overall`, so that effects are relative to a usual node.
void centre(std::vector<double>& effects, double& overall) {
  if (effects.empty()) return;
  const double middle = median(effects);
  for (double& e : effects) e -= middle;
  overall += middle;
}

}  // namespace

Polish median_polish(std::span<const double> values, std::size_t rows, std::size_t columns) {
  RG_CHECK(values.size() == rows * columns);
  Polish out;
  out.rows.assign(rows, 0);
  out.columns.assign(columns, 0);
  out.residuals.assign(values.begin(), values.end());
  for (int round = 0; round < kMaxRounds; ++round) {
    const double by_row = sweep(out.residuals, out.rows, columns, columns, 1);
    const double by_column = sweep(out.residuals, out.columns, rows, 1, columns);
    centre(out.rows, out.overall);
    centre(out.columns, out.overall);
    if (std::max(by_row, by_column) < kSettled) break;
  }
  return out;
}

}  // namespace railgauge::analysis
