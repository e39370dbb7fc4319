// The choice of ranks whose own distributions are reported.
#include "kernels/mpi/far_ranks.h"

#include <algorithm>
#include <numeric>

#include "kernels/core/stats/quantile.h"

namespace railgauge::mpi {
std::vector<std::uint32_t> far_ranks(const std::vector<std::vector<double>>& by_rank_ns,
                                     std::size_t most) {
  std::vector<std::uint32_t> ranks(by_rank_ns.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  if (ranks.size() <= most) return ranks;
  std::vector<double> medians;
  medians.reserve(by_rank_ns.size());
  for (const std::vector<double>& samples : by_rank_ns) medians.push_back(upper_median(samples));
  std::ranges::stable_sort(ranks, {}, [&](std::uint32_t rank) { return medians[rank]; });
  // Half of the kept ranks are the fastest, the other half the slowest.
  const auto shortest = static_cast<std::ptrdiff_t>(most / 2);
  const auto longest = static_cast<std::ptrdiff_t>(most) - shortest;
  ranks.erase(ranks.begin() + shortest, ranks.end() - longest);
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace railgauge::mpi
