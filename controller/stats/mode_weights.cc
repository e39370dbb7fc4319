#include "controller/stats/mode_weights.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "controller/stats/distributions.h"
#include "controller/stats/pelt.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kLeastRuns = 4;
// Least distance of the modes, in deviations within a mode.
constexpr double kApart = 5;
// Modes nearer than this share of the level do not matter.
constexpr double kLeastGap = 0.01;
constexpr double kLeastMove = 0.1;
constexpr double kMoveProof = 0.01;

}  // namespace

std::optional<ModeWeights> mode_weights(std::span<const double> before,
                                        std::span<const double> after, Better better) {
  std::vector<double> all(before.begin(), before.end());
  all.insert(all.end(), after.begin(), after.end());
  if (before.empty() || after.empty() || all.size() < 2 * kLeastRuns) return std::nullopt;
  std::ranges::sort(all);
  const PrefixSums sums(all);
  const std::size_t n = all.size();
  // The split of the sorted runs into two modes that leaves the least variance within them.
  std::size_t cut = 1;
  for (std::size_t at = 2; at < n; ++at)
    if (sums.gain(0, at, n) > sums.gain(0, cut, n)) cut = at;
  const double gap = sums.mean(cut, n) - sums.mean(0, cut);
  const double within =
      std::sqrt((sums.cost(0, cut) + sums.cost(cut, n)) / static_cast<double>(n - 2));
  // A mode of one run is a spike.
  const bool lone = cut < 2 || cut + 2 > n;
  if (lone || gap < kApart * within || gap < kLeastGap * std::abs(all[n / 2])) return std::nullopt;
  // A run belongs to the upper mode above the middle of the gap.
  const double limit = (all[cut - 1] + all[cut]) / 2;
  const auto worse_runs = [&](std::span<const double> runs) {
    return static_cast<double>(std::ranges::count_if(
        runs, [&](double v) { return better == Better::kLower ? v > limit : v < limit; }));
  };
  const auto a = static_cast<double>(before.size());
  const auto b = static_cast<double>(after.size());
  ModeWeights out{.before = worse_runs(before) / a, .after = worse_runs(after) / b};
  out.p = fisher_p(worse_runs(before), a, worse_runs(after), b);
  out.moved = std::abs(out.after - out.before) > kLeastMove && out.p < kMoveProof;
  return out;
}

}  // namespace railgauge::analysis
