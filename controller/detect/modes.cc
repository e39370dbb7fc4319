#include "controller/detect/modes.h"

#include <algorithm>
#include <cmath>

#include "controller/stats/distributions.h"

namespace railgauge::analysis {
namespace {

// Two levels within this share of the jump between them count as one level.
constexpr double kSameLevel = 0.25;
// Returns to a known level that make two modes of it: A B A B.
constexpr std::size_t kLeastReturns = 2;
// Least number of swings whose lengths are compared.
constexpr double kLeastCycles = 5;
// Swings of one cycle differ by less than this share of their mean length.
constexpr double kEven = 0.25;
// Least distance of two modes, in deviations within a mode.
constexpr double kApart = 5;
// Least share of runs in each mode.
constexpr double kLeastWeight = 0.1;
// Least number of changes of mode, per run.
constexpr double kLeastMixing = 0.1;
constexpr std::size_t kLeastSwitches = 6;
// Runs on each side of a change of weights.
constexpr std::size_t kLeastSide = 10;
// Least move of a mode's weight that is reported, as a share of runs.
constexpr double kLeastMove = 0.1;
constexpr double kModesProof = 1e-4;

// Reports whether a run is in the upper mode.
bool is_high(double value, const Mixture& mixture) { return value > mixture.cut; }

// Share of the runs in [begin, end) that are in the upper mode.
double share_high(const Fit& fit, std::size_t begin, std::size_t end, const Mixture& mixture) {
  const auto runs = std::span<const double>(fit.raw).subspan(begin, end - begin);
  const auto high = std::ranges::count_if(runs, [&](double v) { return is_high(v, mixture); });
  return static_cast<double>(high) / static_cast<double>(end - begin);
}

// How often neighbouring runs are in different modes.
std::size_t switches(const Fit& fit, const Mixture& mixture) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < fit.size(); ++i)
    count += is_high(fit.raw[i], mixture) != is_high(fit.raw[i - 1], mixture) ? 1 : 0;
  return count;
}

}  // namespace

std::vector<bool> returning_changes(std::span<const double> levels) {
  const std::size_t pieces = levels.size();
  // By piece: true when another piece has the same level.
  std::vector<bool> shared(pieces, false);
  std::size_t returns = 0;
  for (std::size_t k = 2; k < pieces; ++k) {
    const double reach = kSameLevel * std::abs(levels[k] - levels[k - 1]);
    bool came_back = false;
    for (std::size_t j = 0; j + 1 < k; ++j) {
      if (std::abs(levels[k] - levels[j]) > reach) continue;
      shared[j] = shared[k] = came_back = true;
    }
    returns += came_back ? 1 : 0;
  }
  std::vector<bool> out(pieces == 0 ? 0 : pieces - 1, false);
  if (returns < kLeastReturns) return out;
  for (std::size_t k = 1; k < pieces; ++k) out[k - 1] = shared[k] && shared[k - 1];
  return out;
}

std::optional<std::size_t> cycle_of(std::span<const std::size_t> bounds,
                                    const std::vector<bool>& returning) {
  double count = 0;
  double sum = 0;
  double squares = 0;
  for (std::size_t k = 0; k + 2 < returning.size(); ++k) {
    if (!returning[k] || !returning[k + 1] || !returning[k + 2]) continue;
    // There and back again: from one change to the next of its direction.
    const auto length = static_cast<double>(bounds[k + 3] - bounds[k + 1]);
    ++count;
    sum += length;
    squares += length * length;
  }
  if (count < kLeastCycles) return std::nullopt;
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
  if (deviation > kEven * mean) return std::nullopt;
  return static_cast<std::size_t>(std::lround(mean));
}

// The best split of the sorted values; both modes must be clearly apart, held by enough runs, and
// mixed over time.
std::optional<Mixture> find_mixture(const Fit& fit) {
  std::vector<double> sorted(fit.raw.begin(), fit.raw.end());
  std::ranges::sort(sorted);
  const PrefixSums sums(sorted);
  const std::size_t n = sorted.size();
  const auto margin = static_cast<std::size_t>(std::ceil(kLeastWeight * static_cast<double>(n)));
  std::size_t best_at = 0;
  double best = 0;
  for (std::size_t at = std::max<std::size_t>(1, margin); at + margin <= n && at < n; ++at)
    if (const double gain = sums.gain(0, at, n); gain > best) {
      best = gain;
      best_at = at;
    }
  if (best_at == 0) return std::nullopt;
  const double within =
      std::sqrt((sums.cost(0, best_at) + sums.cost(best_at, n)) / static_cast<double>(n));
  Mixture mixture{.low = sums.mean(0, best_at), .high = sums.mean(best_at, n), .cut = 0};
  mixture.cut = (mixture.low + mixture.high) / 2;
  if (mixture.high - mixture.low < kApart * within) return std::nullopt;
  const auto least =
      std::max(kLeastSwitches, static_cast<std::size_t>(kLeastMixing * static_cast<double>(n)));
  if (switches(fit, mixture) < least) return std::nullopt;
  return mixture;
}

std::optional<WeightChange> find_weight_change(const Fit& fit, const Mixture& mixture) {
  std::vector<double> high(fit.size());
  std::ranges::transform(fit.raw, high.begin(),
                         [&](double v) { return is_high(v, mixture) ? 1.0 : 0.0; });
  const PrefixSums sums(high);
  const std::size_t n = fit.size();
  WeightChange best;
  double largest = 0;
  for (std::size_t at = kLeastSide; at + kLeastSide <= n; ++at)
    if (const double gain = sums.gain(0, at, n); gain > largest) {
      largest = gain;
      best.index = at;
    }
  if (best.index == 0) return std::nullopt;
  best.before = sums.mean(0, best.index);
  best.after = sums.mean(best.index, n);
  if (std::abs(best.after - best.before) <= kLeastMove) return std::nullopt;
  const double mean = sums.mean(0, n);
  // The expected switches of two states that follow each other by chance: 2 p (1 - p) a run when
  // independent.
  const double expected = 2 * mean * (1 - mean) * static_cast<double>(n - 1);
  const double rho =
      std::clamp(1 - static_cast<double>(switches(fit, mixture)) / expected, 0.0, 0.99);
  const double factor = (1 + rho) / (1 - rho);
  const double z = std::sqrt(largest / (mean * (1 - mean) * factor));
  best.p = selected_split_p(z, static_cast<double>(n) / factor, static_cast<double>(kLeastSide));
  if (best.p > kModesProof) return std::nullopt;
  return best;
}

bool is_mix_of(const Fit& fit, std::size_t k, const Mixture& mixture) {
  const double before = share_high(fit, fit.bounds[k - 1], fit.bounds[k], mixture);
  const double after = share_high(fit, fit.bounds[k], fit.bounds[k + 1], mixture);
  const auto mixed = [](double share) {
    return share >= kLeastWeight && share <= 1 - kLeastWeight;
  };
  return mixed(before) || mixed(after);
}

}  // namespace railgauge::analysis
