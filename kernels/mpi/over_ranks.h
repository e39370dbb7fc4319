// The times of several ranks in one sample, and each rank's mean over all samples. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace railgauge::mpi {

// How the ranks' times of one sample make its time: the slowest rank's, which ends the operation
// for all, or the mean over the ranks, which OSU's programs print.
enum class OverRanks : std::uint8_t { kSlowest, kMean };

// One sample under construction, in ns. Not thread safe.
class OneOfRanks {
 public:
  explicit OneOfRanks(OverRanks over) : over_(over) {}
  // Adds the time of one more rank.
  void add(double ns) {
    most_ = std::max(most_, ns);
    sum_ += ns;
    ++ranks_;
  }
  // Returns the time of the sample; 0 without a rank.
  [[nodiscard]] double ns() const {
    return over_ == OverRanks::kSlowest || ranks_ == 0 ? most_ : sum_ / ranks_;
  }

 private:
  OverRanks over_;
  double most_ = 0;
  double sum_ = 0;
  double ranks_ = 0;
};

// Facts of a point of a collective: the mean, the least and the most of the ranks' own means, in
// ns, as OSU's programs have them with -f.
inline constexpr const char* kRankMeansFact = "mean_of_ranks_ns";
inline constexpr const char* kLeastRankMeanFact = "least_rank_mean_ns";
inline constexpr const char* kMostRankMeanFact = "most_rank_mean_ns";

// Returns the three facts from the ranks' samples; none where a rank has no sample.
std::map<std::string, std::string> rank_mean_facts(
    const std::vector<std::vector<double>>& by_rank_ns);

}  // namespace railgauge::mpi
