#include "controller/stats/permutation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kExactFlips = 12;
constexpr double kExactExchanges = 20'000;
constexpr int kDraws = 10'000;
// Relative: sums in another order are the same.
constexpr double kTie = 1e-12;

// Welch's t of two groups. Without any spread it is 0 for equal means, else huge with their sign.
double welch_t(std::span<const double> a, std::span<const double> b) {
  const auto moments = [](std::span<const double> v) {
    const auto n = static_cast<double>(v.size());
    const double mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
    double sum = 0;
    for (const double x : v) sum += (x - mean) * (x - mean);
    return std::pair{mean, sum / (n - 1) / n};
  };
  const auto [mean_a, var_a] = moments(a);
  const auto [mean_b, var_b] = moments(b);
  const double difference = mean_a - mean_b;
  const double error = std::sqrt(var_a + var_b);
  if (error > 0) return difference / error;
  return difference == 0 ? 0 : std::copysign(1e300, difference);
}

// n over k, as a double.
double ways(std::size_t n, std::size_t k) {
  double out = 1;
  for (std::size_t i = 1; i <= k; ++i)
    out *= static_cast<double>(n - k + i) / static_cast<double>(i);
  return out;
}

// A number below `bound` that no standard library decides about.
std::size_t below(std::mt19937_64& bits, std::size_t bound) {
  // Bound is far below 2^64: no bias that shows.
  return static_cast<std::size_t>(bits() % bound);
}

}  // namespace

double sign_flip_p(std::span<const double> values, std::uint64_t seed) {
  RG_CHECK(!values.empty());
  const double seen = std::accumulate(values.begin(), values.end(), 0.0);
  double size = 0;
  for (const double v : values) size += std::abs(v);
  // The observed sum counts as reached in spite of rounding.
  const double limit = seen - kTie * size;
  if (values.size() <= kExactFlips) {
    const std::uint64_t all = 1ULL << values.size();
    std::uint64_t as_large = 0;
    for (std::uint64_t flips = 0; flips < all; ++flips) {
      double sum = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        sum += (flips >> i & 1U) != 0 ? -values[i] : values[i];
      as_large += sum >= limit ? 1 : 0;
    }
    return static_cast<double>(as_large) / static_cast<double>(all);
  }
  std::mt19937_64 bits(seed);
  // The observed value is one of the draws.
  int as_large = 1;
  for (int draw = 0; draw < kDraws; ++draw) {
    double sum = 0;
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % 64 == 0) word = bits();
      sum += (word >> (i % 64) & 1U) != 0 ? -values[i] : values[i];
    }
    as_large += sum >= limit ? 1 : 0;
  }
  return static_cast<double>(as_large) / (kDraws + 1);
}

double exchange_p(std::span<const double> treated, std::span<const double> controls,
                  std::uint64_t seed) {
  RG_CHECK(treated.size() >= 2 && controls.size() >= 2);
  std::vector<double> all(treated.begin(), treated.end());
  all.insert(all.end(), controls.begin(), controls.end());
  const std::size_t k = treated.size();
  const double seen = welch_t(treated, controls);
  const double limit = seen - kTie * std::abs(seen);
  const auto statistic = [&](std::span<const double> order) {
    return welch_t(order.first(k), order.subspan(k));
  };
  if (ways(all.size(), k) <= kExactExchanges) {
    // Every choice of k of the values, by the permutations of a mask.
    std::vector<bool> chosen(all.size(), false);
    std::fill_n(chosen.begin(), k, true);
    std::vector<double> order(all.size());
    double count = 0;
    double as_large = 0;
    do {
      std::size_t first = 0;
      std::size_t second = k;
      for (std::size_t i = 0; i < all.size(); ++i) order[chosen[i] ? first++ : second++] = all[i];
      as_large += statistic(order) >= limit ? 1 : 0;
      ++count;
    } while (std::prev_permutation(chosen.begin(), chosen.end()));
    return as_large / count;
  }
  std::mt19937_64 bits(seed);
  int as_large = 1;
  for (int draw = 0; draw < kDraws; ++draw) {
    for (std::size_t i = 0; i < k; ++i) std::swap(all[i], all[i + below(bits, all.size() - i)]);
    as_large += statistic(all) >= limit ? 1 : 0;
  }
  return static_cast<double>(as_large) / (kDraws + 1);
}

std::uint64_t seed_of(std::span<const char> words) {
  // Offset basis of FNV-1a with 64 bits.
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : words) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace railgauge::analysis
