#include "controller/stats/shape.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <boost/math/distributions/students_t.hpp>

#include "controller/stats/pelt.h"
#include "controller/stats/selection.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kLeastRuns = 4;
constexpr double kApart = 5;        // within-mode deviations
constexpr double kLeastGap = 0.01;  // of the level: narrower modes are no matter
constexpr double kLeastMove = 0.1;
constexpr double kProof = 0.01;

// Mean rank of values[i] among all of `sorted`, from 1.
double mean_rank(const std::vector<double>& sorted, double value) {
  const auto [low, high] = std::ranges::equal_range(sorted, value);
  return (static_cast<double>(low - sorted.begin()) + static_cast<double>(high - sorted.begin()) +
          1) /
         2;
}

struct Placement {
  double mean_rank = 0;
  double variance = 0;  // of the ranks among all less those within the own group
};

Placement placement(std::span<const double> own, const std::vector<double>& all) {
  std::vector<double> mine(own.begin(), own.end());
  std::ranges::sort(mine);
  const auto n = static_cast<double>(own.size());
  Placement out;
  std::vector<double> excess;
  double mean_excess = 0;
  for (const double v : own) {
    const double rank = mean_rank(all, v);
    excess.push_back(rank - mean_rank(mine, v));
    out.mean_rank += rank / n;
    mean_excess += excess.back() / n;
  }
  for (const double e : excess) out.variance += (e - mean_excess) * (e - mean_excess) / (n - 1);
  return out;
}

double quantile(std::span<const float> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

std::optional<Dominance> brunner_munzel(std::span<const double> before,
                                        std::span<const double> after) {
  if (before.size() < kLeastRuns || after.size() < kLeastRuns) return std::nullopt;
  std::vector<double> all(before.begin(), before.end());
  all.insert(all.end(), after.begin(), after.end());
  std::ranges::sort(all);
  const auto n = static_cast<double>(before.size());
  const auto m = static_cast<double>(after.size());
  const Placement x = placement(before, all);
  const Placement y = placement(after, all);
  Dominance out;
  out.probability = (y.mean_rank - (m + 1) / 2) / n;
  const double a = n * x.variance;
  const double b = m * y.variance;
  if (a + b <= 0) {  // the groups do not overlap (or are all the same)
    out.p = out.probability == 0.5 ? 1 : 2 * std::exp(-log_choose(n + m, n));
    return out;
  }
  const double t = n * m * (y.mean_rank - x.mean_rank) / ((n + m) * std::sqrt(a + b));
  const double degrees = (a + b) * (a + b) / (a * a / (n - 1) + b * b / (m - 1));
  const boost::math::students_t distribution(degrees);
  out.p = 2 * boost::math::cdf(boost::math::complement(distribution, std::abs(t)));
  return out;
}

std::array<double, 9> decile_worsening(std::span<const float> before, std::span<const float> after,
                                       Better better) {
  std::array<double, 9> out{};
  if (before.empty() || after.empty()) return out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double q = static_cast<double>(i + 1) / 10;
    const double from = quantile(before, q);
    const double to = quantile(after, q);
    if (from > 0 && to > 0) out[i] = worse_fraction(better, oriented(better, std::log(to / from)));
  }
  return out;
}

std::optional<ModeWeights> mode_weights(std::span<const double> before,
                                        std::span<const double> after, Better better) {
  std::vector<double> all(before.begin(), before.end());
  all.insert(all.end(), after.begin(), after.end());
  if (before.empty() || after.empty() || all.size() < 2 * kLeastRuns) return std::nullopt;
  std::ranges::sort(all);
  const PrefixSums sums(all);
  const std::size_t n = all.size();
  std::size_t cut = 1;
  for (std::size_t at = 2; at < n; ++at)
    if (sums.gain(0, at, n) > sums.gain(0, cut, n)) cut = at;
  const double gap = sums.mean(cut, n) - sums.mean(0, cut);
  const double within =
      std::sqrt((sums.cost(0, cut) + sums.cost(cut, n)) / static_cast<double>(n - 2));
  const bool lone = cut < 2 || cut + 2 > n;  // one run apart is a spike
  if (lone || gap < kApart * within || gap < kLeastGap * std::abs(all[n / 2])) return std::nullopt;
  const double limit = (all[cut - 1] + all[cut]) / 2;
  const auto worse_runs = [&](std::span<const double> runs) {
    return static_cast<double>(std::ranges::count_if(
        runs, [&](double v) { return better == Better::kLower ? v > limit : v < limit; }));
  };
  const auto a = static_cast<double>(before.size());
  const auto b = static_cast<double>(after.size());
  ModeWeights out{.before = worse_runs(before) / a, .after = worse_runs(after) / b};
  out.p = fisher_p(worse_runs(before), a, worse_runs(after), b);
  out.moved = std::abs(out.after - out.before) > kLeastMove && out.p < kProof;
  return out;
}

}  // namespace railgauge::analysis
