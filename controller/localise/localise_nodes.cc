#include "controller/localise/localise_nodes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace railgauge::localise {
namespace {

// The contribution of each node to the figures that it sends, and to those that it receives: a
// mean, a row's and a column's effect, by least squares over whatever cells there are.

// Effects of a row or column that has fewer than two figures are not known: such figures are left
// out, since an effect of their own would explain them whole.
struct TwoWay {
  // Effects, about a mean of 0; by node.
  std::vector<double> rows{};
  // Effects of the columns, likewise.
  std::vector<double> columns{};
  std::vector<bool> row_known{};
  std::vector<bool> column_known{};
  // By cell; NaN where there is no figure or it was left out.
  std::vector<double> residuals{};
  double mean = 0;
  // Number of fitted figures.
  double figures = 0;
  // Sum of the squared residuals.
  double residual_squares = 0;
  // Figures less the effects; 0 or less: nothing is left to judge by.
  double residual_degrees = 0;
};

// A sweep takes most of what is left of the error away.
constexpr int kSweeps = 200;
constexpr double kLeastFigures = 2;

// Alternating least squares: row effects given the columns, then columns given the rows. Converges
// for any pattern of missing cells.
class Fit {
 public:
  Fit(const std::vector<double>& values, std::size_t n) : values_(values), n_(n) {
    fit_.rows.assign(n, 0);
    fit_.columns.assign(n, 0);
    fit_.row_known.assign(n, true);
    fit_.column_known.assign(n, true);
    fit_.residuals.assign(n * n, std::numeric_limits<double>::quiet_NaN());
  }

  // Leaves out lines with too few figures, alternates, then centres the effects at 0.
  TwoWay fit() {
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
  // Reports whether the cell has a figure and both of its lines are known.
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

  // Moves the mean of the known effects into the overall mean.
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

  // Residuals, their squares, and the degrees of freedom that are left.
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

// `values` is from-major, n squared; NaN: no figure.
TwoWay fit_two_way(const std::vector<double>& values, std::size_t n) {
  return Fit(values, n).fit();
}

// Fewest rows or columns that show the odd one.
constexpr double kLeastLines = 3;
// Share of pairs with one direction only, above which rows and columns are joined.
constexpr double kOneWayShare = 0.5;
// Chance below which the second direction is significant by itself.
constexpr double kAloneChance = 0.01;
// Both directions count together from this share of the larger drop on.
constexpr double kComparableDrop = 0.5;
constexpr double kLeastChance = 1e-300;

// The effects of one side of all nodes, and how they scatter without one of them.
struct Side {
  const std::vector<double>& effects;
  const std::vector<bool>& known;

  struct Scatter {
    // Sum of squares about the mean.
    double squares = 0;
    double count = 0;
    double mean = 0;
  };
  [[nodiscard]] Scatter without(std::int32_t node) const {
    Scatter out;
    double sum = 0;
    for (std::size_t i = 0; i < effects.size(); ++i) {
      if (!known[i] || static_cast<std::int32_t>(i) == node) continue;
      sum += effects[i];
      ++out.count;
    }
    if (out.count == 0) return out;
    out.mean = sum / out.count;
    for (std::size_t i = 0; i < effects.size(); ++i)
      if (known[i] && static_cast<std::int32_t>(i) != node)
        out.squares += (effects[i] - out.mean) * (effects[i] - out.mean);
    return out;
  }
  // How far the node is below the others; absent where too few are known.
  [[nodiscard]] std::optional<double> below(std::int32_t node) const {
    const Scatter others = without(node);
    if (!known[static_cast<std::size_t>(node)] || others.count + 1 < kLeastLines) return {};
    return others.mean - effects[static_cast<std::size_t>(node)];
  }
};

// From an effect in logarithms to a share of the expected value.
double share_of(double effect) { return 1 - std::exp(-effect); }

// Judges each side of each node against the other nodes' sides.
class Effects {
 public:
  // `is_symmetric`: rows and columns have the same figures, which count once.
  Effects(const TwoWay& fit, double least_noise, bool is_symmetric)
      : fit_(fit),
        rows_{fit.rows, fit.row_known},
        columns_{fit.columns, fit.column_known},
        is_symmetric_(is_symmetric) {
    const double lines =
        std::max(1.0, static_cast<double>(std::ranges::count(fit.row_known, true)));
    const double in_line = std::max(1.0, fit.figures / lines);
    least_variance_ = least_noise * least_noise / in_line;
    // A symmetric matrix has each figure twice.
    const double once = is_symmetric ? 2 : 1;
    const double effects = is_symmetric ? lines : fit.figures - fit.residual_degrees;
    residual_degrees_ = std::max(0.0, fit.figures / once - effects);
    if (residual_degrees_ > 0)
      residual_variance_ = fit.residual_squares / once / residual_degrees_ / in_line;
  }

  std::vector<NodeEffect> all() const {
    std::vector<NodeEffect> list;
    const auto n = static_cast<std::int32_t>(fit_.rows.size());
    for (std::int32_t node = 0; node < n; ++node) {
      const std::optional<double> sends = rows_.below(node);
      const std::optional<double> receives = columns_.below(node);
      if (is_symmetric_) {
        if (sends) list.push_back(judged(node, Direction::kBoth, *sends, true));
        continue;
      }
      if (sends && receives && is_both(node, *sends, *receives)) {
        list.push_back(judged(node, Direction::kBoth, (*sends + *receives) / 2, true));
        continue;
      }
      if (sends) list.push_back(best_of_two(node, Direction::kSends, *sends));
      if (receives) list.push_back(best_of_two(node, Direction::kReceives, *receives));
    }
    return list;
  }

 private:
  // The difference between hosts is at least the scatter of single figures, which is known from
  // other degrees of freedom: a few sides that happen to be alike prove no calm.
  [[nodiscard]] double variance(double squares, double degrees) const {
    const double alone = squares / degrees;
    const double pooled =
        (squares + residual_variance_ * residual_degrees_) / (degrees + residual_degrees_);
    return std::max({alone, pooled, least_variance_});
  }

  // `apart`: the node's other side may be slow too, and shows nothing of the scatter. A disturbance
  // of a host may bend both of its sides alike, so each node counts once then; where the other side
  // of this very node is the comparison, that cannot make it an outlier.
  [[nodiscard]] NodeEffect judged(std::int32_t node, Direction direction, double effect,
                                  bool apart) const {
    NodeEffect out{.node = node, .direction = direction, .effect = effect};
    const bool sends = direction != Direction::kReceives;
    const Side::Scatter own = (sends ? rows_ : columns_).without(node);
    const Side::Scatter other = (sends ? columns_ : rows_).without(apart ? node : -1);
    double degrees = own.count - 1;
    double squares = own.squares;
    if (!is_symmetric_ && other.count > 1) {
      degrees += other.count - 1;
      squares += other.squares;
    }
    out.degrees = apart ? own.count - 1 : degrees;
    if (out.degrees < 1) return out;
    const double error = std::sqrt(variance(squares, degrees) * (1 + 1 / own.count));
    out.t = error > 0 ? effect / error : 0;
    return out;
  }

  // Judges the side with and without the node's own other side and returns the more significant
  // result.
  [[nodiscard]] NodeEffect best_of_two(std::int32_t node, Direction direction,
                                       double effect) const {
    const NodeEffect with = judged(node, direction, effect, false);
    const NodeEffect apart = judged(node, direction, effect, true);
    return chance_of(apart.t, apart.degrees) < chance_of(with.t, with.degrees) ? apart : with;
  }

  // Reports whether both sides are slow by comparable drops and the lesser one is significant
  // alone: then the node as a whole is slow.
  [[nodiscard]] bool is_both(std::int32_t node, double sends, double receives) const {
    const bool less_sends = sends < receives;
    const double lesser = std::min(sends, receives);
    const double larger = std::max(sends, receives);
    if (lesser <= 0 || share_of(lesser) < kComparableDrop * share_of(larger)) return false;
    const NodeEffect alone =
        judged(node, less_sends ? Direction::kSends : Direction::kReceives, lesser, true);
    return chance_of(alone.t, alone.degrees) < kAloneChance;
  }

  const TwoWay& fit_;
  const Side rows_;
  const Side columns_;
  const bool is_symmetric_;
  double least_variance_ = 0;
  // Variance of a line's mean, from the scatter of single figures.
  double residual_variance_ = 0;
  double residual_degrees_ = 0;
};

// Reports whether most pairs have a figure in one direction alone.
bool is_one_way(const std::vector<double>& values, std::size_t n) {
  double pairs = 0;
  double one_way = 0;
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) {
      const bool there = std::isfinite(values[a * n + b]);
      const bool back = std::isfinite(values[b * n + a]);
      pairs += there || back ? 1 : 0;
      one_way += there != back ? 1 : 0;
    }
  return one_way > kOneWayShare * pairs;
}

// Both directions of a pair as their mean, or as the one that there is.
std::vector<double> both_ways(const std::vector<double>& values, std::size_t n) {
  std::vector<double> means(values.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = 0; b < n; ++b) {
      const double there = values[a * n + b];
      const double back = values[b * n + a];
      means[a * n + b] = !std::isfinite(there)  ? back
                         : !std::isfinite(back) ? there
                                                : (there + back) / 2;
    }
  return means;
}

}  // namespace

std::vector<NodeEffect> node_effects(const std::vector<double>& values, std::size_t n,
                                     double least_noise) {
  const bool symmetric = is_one_way(values, n);
  const TwoWay fit = fit_two_way(symmetric ? both_ways(values, n) : values, n);
  return Effects(fit, least_noise, symmetric).all();
}

std::vector<PairEffect> pair_effects(const std::vector<double>& values, std::size_t n,
                                     double least_noise) {
  const TwoWay fit = fit_two_way(values, n);
  std::vector<PairEffect> list;
  const double degrees = fit.residual_degrees - 1;
  if (degrees < 1) return list;
  // Share of a figure's variance that the fit leaves in its residual.
  const double own = fit.residual_degrees / fit.figures;
  for (std::size_t at = 0; at < fit.residuals.size(); ++at) {
    const double residual = fit.residuals[at];
    if (!std::isfinite(residual)) continue;
    const double without = fit.residual_squares - residual * residual / own;
    const double variance = std::max(without / degrees, least_noise * least_noise);
    list.push_back({.from = static_cast<std::int32_t>(at / n),
                    .to = static_cast<std::int32_t>(at % n),
                    .effect = -residual / own,
                    .t = variance > 0 ? -residual / std::sqrt(variance * own) : 0,
                    .degrees = degrees});
  }
  return list;
}

double chance_of(double t, double degrees) {
  if (degrees < 1 || !std::isfinite(t)) return 1;
  const boost::math::students_t distribution(degrees);
  return boost::math::cdf(boost::math::complement(distribution, t));
}

// The floor keeps the weight finite for a chance that underflows.
double weight_of(double chance) {
  if (chance >= 0.5) return 0;
  const double z = boost::math::quantile(
      boost::math::complement(boost::math::normal(), std::max(chance, kLeastChance)));
  return z * z / 2;
}

}  // namespace railgauge::localise
