#include "controller/localise/localise_two_way.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace railgauge::localise {
namespace {

constexpr int kSweeps = 200;  // a sweep takes most of what is left of the error away
constexpr double kLeastFigures = 2;

class Fit {
 public:
  Fit(const std::vector<double>& values, std::size_t n) : values_(values), n_(n) {
    fit_.rows.assign(n, 0);
    fit_.columns.assign(n, 0);
    fit_.row_known.assign(n, true);
    fit_.column_known.assign(n, true);
    fit_.residuals.assign(n * n, std::numeric_limits<double>::quiet_NaN());
  }

  TwoWay done() {
    while (leave_out()) {
    }
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      means(true);
      means(false);
    }
    centre(fit_.rows, fit_.row_known);
    centre(fit_.columns, fit_.column_known);
    take_residuals();
    return std::move(fit_);
  }

 private:
  [[nodiscard]] bool used(std::size_t row, std::size_t column) const {
    return fit_.row_known[row] && fit_.column_known[column] &&
           std::isfinite(values_[row * n_ + column]);
  }

  // True when a line was left out, which may leave others with too few.
  bool leave_out() {
    bool any = false;
    for (std::size_t line = 0; line < n_; ++line) {
      double in_row = 0;
      double in_column = 0;
      for (std::size_t k = 0; k < n_; ++k) {
        in_row += used(line, k) ? 1 : 0;
        in_column += used(k, line) ? 1 : 0;
      }
      any = any || (fit_.row_known[line] && in_row < kLeastFigures) ||
            (fit_.column_known[line] && in_column < kLeastFigures);
      fit_.row_known[line] = fit_.row_known[line] && in_row >= kLeastFigures;
      fit_.column_known[line] = fit_.column_known[line] && in_column >= kLeastFigures;
    }
    return any;
  }

  // The effects of one side, given the other's.
  void means(bool of_rows) {
    for (std::size_t line = 0; line < n_; ++line) {
      double sum = 0;
      double count = 0;
      for (std::size_t k = 0; k < n_; ++k) {
        const std::size_t row = of_rows ? line : k;
        const std::size_t column = of_rows ? k : line;
        if (!used(row, column)) continue;
        sum += values_[row * n_ + column] - (of_rows ? fit_.columns[k] : fit_.rows[k]);
        ++count;
      }
      (of_rows ? fit_.rows : fit_.columns)[line] = count > 0 ? sum / count : 0;
    }
  }

  void centre(std::vector<double>& effects, const std::vector<bool>& known) {
    double sum = 0;
    double count = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      if (!known[i]) continue;
      sum += effects[i];
      ++count;
    }
    if (count == 0) return;
    fit_.mean += sum / count;
    for (std::size_t i = 0; i < n_; ++i) effects[i] = known[i] ? effects[i] - sum / count : 0;
  }

  void take_residuals() {
    const auto count = [](const std::vector<bool>& known) {
      return static_cast<double>(std::ranges::count(known, true));
    };
    for (std::size_t row = 0; row < n_; ++row)
      for (std::size_t column = 0; column < n_; ++column) {
        if (!used(row, column)) continue;
        const double residual =
            values_[row * n_ + column] - fit_.mean - fit_.rows[row] - fit_.columns[column];
        fit_.residuals[row * n_ + column] = residual;
        fit_.residual_squares += residual * residual;
        ++fit_.figures;
      }
    fit_.residual_degrees = fit_.figures - count(fit_.row_known) - count(fit_.column_known) + 1;
  }

  const std::vector<double>& values_;
  const std::size_t n_;
  TwoWay fit_;
};

}  // namespace

TwoWay fit_two_way(const std::vector<double>& values, std::size_t n) {
  return Fit(values, n).done();
}

}  // namespace railgauge::localise
