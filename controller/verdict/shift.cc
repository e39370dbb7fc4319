#include "controller/verdict/shift.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "controller/stats/distributions.h"

namespace railgauge::analysis {
namespace {

constexpr double kMissEachSide = 0.025;
// Runs a side; the distribution costs their product squared.
constexpr std::size_t kMaxExact = 40;

// Logarithms of the measured runs. `side` names the group in errors.
Result<std::vector<double>> logarithms(std::span<const double> runs, const char* side) {
  std::vector<double> out;
  for (const double v : runs) {
    if (!std::isfinite(v)) continue;
    if (!(v > 0))
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: a run's figure is {}; figures are positive", side, v));
    out.push_back(std::log(v));
  }
  if (out.empty())
    return fail(Code::kFailedPrecondition, fmt::format("{}: no run was measured", side));
  return out;
}

// How many of the sorted pairwise differences may be left out at each end.
std::size_t left_out(std::size_t a, std::size_t b) {
  if (a > kMaxExact || b > kMaxExact) {
    const auto pairs = static_cast<double>(a * b);
    const double spread = std::sqrt(pairs * static_cast<double>(a + b + 1) / 12);
    return static_cast<std::size_t>(std::max(0.0, std::floor(pairs / 2 - 1.96 * spread)));
  }
  // Counts of Mann and Whitney's U for each pair of sizes, by the largest value's side.
  const std::size_t most = a * b;
  std::vector<std::vector<double>> table(b + 1, std::vector<double>(most + 1, 0.0));
  for (auto& row : table) row[0] = 1;
  for (std::size_t i = 1; i <= a; ++i)
    for (std::size_t j = 1; j <= b; ++j) {
      // table[j] still holds (i - 1, j): the largest is of the first group and beats j others.
      std::vector<double> next(most + 1, 0.0);
      for (std::size_t u = 0; u <= most; ++u)
        next[u] = (u >= j ? table[j][u - j] : 0.0) + table[j - 1][u];
      table[j] = std::move(next);
    }
  const double total = std::accumulate(table[b].begin(), table[b].end(), 0.0);
  double tail = 0;
  std::size_t cut = 0;
  while (cut <= most && (tail + table[b][cut]) / total <= kMissEachSide) tail += table[b][cut++];
  // P(U < cut) is at most 2.5 %.
  return cut;
}

// Sum of squares about the mean.
double sum_of_squares(std::span<const double> values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double sum = 0;
  for (const double v : values) sum += (v - mean) * (v - mean);
  return sum;
}

}  // namespace

Result<Shift> shift_of(std::span<const double> before, std::span<const double> after, Better better,
                       Centre centre) {
  const std::vector<double> a = RG_TRY(logarithms(before, "before"));
  const std::vector<double> b = RG_TRY(logarithms(after, "after"));
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double y : b)
    for (const double x : a) differences.push_back(oriented(better, y - x));
  std::ranges::sort(differences);
  Shift shift;
  const std::size_t m = differences.size();
  shift.log_worsening =
      m % 2 == 1 ? differences[m / 2] : (differences[m / 2 - 1] + differences[m / 2]) / 2;
  const std::size_t cut = left_out(a.size(), b.size());
  const bool bounded = cut > 0;
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  shift.low = bounded ? differences[cut - 1] : -kUnbounded;
  shift.high = bounded ? differences[m - cut] : kUnbounded;
  const std::size_t free = a.size() + b.size() - 2;
  if (free > 0)
    shift.run_variance = (sum_of_squares(a) + sum_of_squares(b)) / static_cast<double>(free);
  const double error2 =
      shift.run_variance * (1 / static_cast<double>(a.size()) + 1 / static_cast<double>(b.size()));
  shift.run_error2 = error2 * kMedianLoss;
  shift.run_degrees = free;
  if (centre == Centre::kMedian) return shift;
  shift.log_worsening =
      std::accumulate(differences.begin(), differences.end(), 0.0) / static_cast<double>(m);
  shift.run_error2 = error2;
  if (!bounded) return shift;
  const double half =
      -student_quantile(kMissEachSide, static_cast<double>(free)) * std::sqrt(error2);
  shift.low = shift.log_worsening - half;
  shift.high = shift.log_worsening + half;
  return shift;
}

}  // namespace railgauge::analysis
