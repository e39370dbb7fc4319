// The means of the ranks of a collective.
#include "kernels/mpi/over_ranks.h"

#include <numeric>

#include <fmt/format.h>

namespace railgauge::mpi {

// The mean of the ranks' means equals the mean of all times, since all ranks have equally many.
std::map<std::string, std::string> rank_mean_facts(
    const std::vector<std::vector<double>>& by_rank_ns) {
  std::vector<double> means;
  means.reserve(by_rank_ns.size());
  for (const std::vector<double>& samples : by_rank_ns) {
    if (samples.empty()) return {};
    means.push_back(std::accumulate(samples.begin(), samples.end(), 0.0) /
                    static_cast<double>(samples.size()));
  }
  if (means.empty()) return {};
  const auto [least, most] = std::ranges::minmax_element(means);
  const double mean =
      std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(means.size());
  return {{kRankMeansFact, fmt::format("{:.1f}", mean)},
          {kLeastRankMeanFact, fmt::format("{:.1f}", *least)},
          {kMostRankMeanFact, fmt::format("{:.1f}", *most)}};
}

}  // namespace railgauge::mpi
