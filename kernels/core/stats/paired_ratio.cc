// The Hodges-Lehmann estimate by all Walsh averages, and the exact null distribution.
#include "kernels/core/stats/paired_ratio.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

namespace railgauge {
namespace {

// Below this, the widest interval leaves more than 5 % outside: 2 / 2^6 is 3.1 %.
constexpr std::size_t kMinPairs = 6;
// The null distribution costs n^3 steps.
constexpr std::size_t kMaxPairs = 1000;
constexpr double kAlpha = 0.05;

// Probability of each value of the signed-rank sum of `n` pairs under symmetry, by convolution over
// the ranks.
std::vector<double> signed_rank_distribution(std::size_t n) {
  std::vector<double> probability(n * (n + 1) / 2 + 1, 0.0);
  probability[0] = 1;
  std::size_t top = 0;
  for (std::size_t rank = 1; rank <= n; ++rank) {
    top += rank;
    for (std::size_t sum = top + 1; sum-- > 0;)
      probability[sum] = 0.5 * (probability[sum] + (sum >= rank ? probability[sum - rank] : 0.0));
  }
  return probability;
}

}  // namespace

// Logarithms make the estimate symmetric: a/b and b/a give reciprocal ratios.
Result<PairedRatio> paired_ratio(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size())
    return invalid("paired ratio: {} launches against {}", a.size(), b.size());
  const std::size_t n = a.size();
  if (n < kMinPairs || n > kMaxPairs)
    return fail(Code::kFailedPrecondition, "paired ratio: {} pairs; a 95 % interval needs {} to {}",
                n, kMinPairs, kMaxPairs);
  std::vector<double> logs(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!(a[i] > 0) || !(b[i] > 0))
      return invalid("paired ratio: pair {} is {} and {}; figures are positive", i + 1, a[i], b[i]);
    logs[i] = std::log(a[i] / b[i]);
  }
  std::vector<double> walsh;  // averages of all pairs of log ratios, each with itself too
  walsh.reserve(n * (n + 1) / 2);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j) walsh.push_back((logs[i] + logs[j]) / 2);
  std::ranges::sort(walsh);

  const std::vector<double> probability = signed_rank_distribution(n);
  std::size_t cut = 0;  // Walsh averages left out at each end
  double tail = 0;
  while (tail + probability[cut] <= kAlpha / 2) tail += probability[cut++];
  // `tail` is P(rank sum < cut): cut values are left out at each end, so the interval starts at
  // index cut - 1.
  const std::size_t m = walsh.size();
  const double middle = m % 2 == 1 ? walsh[m / 2] : (walsh[m / 2 - 1] + walsh[m / 2]) / 2;
  return PairedRatio{.ratio = std::exp(middle),
                     .low = std::exp(walsh[cut - 1]),
                     .high = std::exp(walsh[m - cut]),
                     .confidence = 1 - 2 * tail};
}

}  // namespace railgauge
