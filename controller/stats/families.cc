#include "controller/stats/families.h"

#include <algorithm>
#include <numeric>

namespace railgauge::analysis {
namespace {

// Indices of `p`, the smallest p first.
std::vector<std::size_t> ascending(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  return order;
}

}  // namespace

double simes_p(std::span<const double> p) {
  const std::vector<std::size_t> order = ascending(p);
  const auto n = static_cast<double>(p.size());
  double smallest = 1;
  for (std::size_t i = 0; i < order.size(); ++i)
    smallest = std::min(smallest, p[order[i]] * n / static_cast<double>(i + 1));
  return smallest;
}

std::vector<bool> benjamini_hochberg(std::span<const double> p, double q) {
  const std::vector<std::size_t> order = ascending(p);
  const auto n = static_cast<double>(p.size());
  // Benjamini and Hochberg's step-up rule: the largest rank within its bound decides for all
  // smaller ones.
  std::size_t stand = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (p[order[i]] <= q * static_cast<double>(i + 1) / n) stand = i + 1;
  std::vector<bool> out(p.size(), false);
  for (std::size_t i = 0; i < stand; ++i) out[order[i]] = true;
  return out;
}

std::vector<std::vector<bool>> hierarchical(std::span<const std::vector<double>> families,
                                            double q) {
  std::vector<double> whole;
  whole.reserve(families.size());
  for (const auto& family : families) whole.push_back(simes_p(family));
  const std::vector<bool> stand = benjamini_hochberg(whole, q);
  const auto share = static_cast<double>(std::ranges::count(stand, true)) /
                     static_cast<double>(std::max<std::size_t>(1, families.size()));
  std::vector<std::vector<bool>> out;
  out.reserve(families.size());
  for (std::size_t i = 0; i < families.size(); ++i)
    out.push_back(stand[i] ? benjamini_hochberg(families[i], q * share)
                           : std::vector<bool>(families[i].size(), false));
  return out;
}

}  // namespace railgauge::analysis
