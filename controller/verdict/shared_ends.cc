#include "controller/verdict/shared_ends.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace railgauge::analysis {
namespace {

constexpr double kNothing = 1e-9;  // of the drift: what a spread must show of it at least

// The products of the shifts' loads, n by n: drift's covariance but for a factor. With C the matrix
// that subtracts the mean.
struct Products {
  double trace = 0;
  double centred = 0;         // trace of C G
  double centred_square = 0;  // trace of C G C G
  double mean_row = 0;        // sum of all over n
};

Products products_of(const Group& group) {
  std::map<std::size_t, std::vector<std::pair<std::size_t, double>>> by_node;
  for (std::size_t i = 0; i < group.ends.size(); ++i)
    for (const auto& [node, share] : group.ends[i]) by_node[node].emplace_back(i, share);
  std::map<std::pair<std::size_t, std::size_t>, double> gram;
  for (const auto& [node, shifts] : by_node)
    for (const auto& [i, a] : shifts)
      for (const auto& [j, b] : shifts) gram[{i, j}] += a * b;
  const auto n = static_cast<double>(group.ends.size());
  Products out;
  double squares = 0;
  std::vector<double> rows(group.ends.size(), 0.0);
  for (const auto& [at, value] : gram) {
    if (at.first == at.second) out.trace += value;
    squares += value * value;
    rows[at.first] += value;
  }
  double row_squares = 0;
  for (const double row : rows) row_squares += row * row;
  out.mean_row = std::accumulate(rows.begin(), rows.end(), 0.0) / n;
  out.centred = out.trace - out.mean_row;
  out.centred_square = squares - 2 * row_squares / n + out.mean_row * out.mean_row;
  return out;
}

// With ends that are shared: the spread's part beyond that of the runs, times what the mean holds
// over what the spread shows.
void widen(const Group& group, double spread, MeanSpread& out) {
  const auto n = static_cast<double>(group.shifts.size());
  const Products g = products_of(group);
  const double shown = g.centred / (n - 1);  // of a drift of 1
  if (shown <= kNothing * g.trace / n) {
    out.error2 = std::numeric_limits<double>::infinity();
    out.degrees = 0;
    return;
  }
  out.widening = g.mean_row / shown;
  if (out.widening <= 1 + kNothing) return;
  const double drift = std::max(0.0, spread - group.run_error2);
  const double of_runs = std::max(spread, group.run_error2) - drift;
  const double mean = out.widening * drift + of_runs;
  out.error2 = mean / n;
  // Satterthwaite: what the spread of correlated shifts is worth as degrees of freedom.
  const double unit = drift / shown;
  const double variance =
      unit * unit * g.centred_square + 2 * unit * of_runs * g.centred + of_runs * of_runs * (n - 1);
  if (variance > 0)
    out.degrees = std::clamp(
        mean * mean * (n - 1) * (n - 1) / (out.widening * out.widening * variance), 1.0, n - 1);
}

}  // namespace

MeanSpread spread_of(const Group& group) {
  MeanSpread out;
  const auto n = static_cast<double>(group.shifts.size());
  out.error2 = std::numeric_limits<double>::infinity();
  if (group.shifts.empty()) return out;
  out.mean = std::accumulate(group.shifts.begin(), group.shifts.end(), 0.0) / n;
  if (group.shifts.size() < 2) return out;
  double sum = 0;
  for (const double v : group.shifts) sum += (v - out.mean) * (v - out.mean);
  const double spread = sum / (n - 1);
  out.error2 = spread / n;
  out.degrees = n - 1;
  if (!group.ends.empty()) widen(group, spread, out);
  return out;
}

}  // namespace railgauge::analysis
