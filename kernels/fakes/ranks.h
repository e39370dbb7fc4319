// Runs one task of any number of ranks inside the test: a thread for each and a group in memory.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "kernels/fakes/pair.h"

namespace railgauge::fake {

inline constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

struct RanksOptions {
  std::map<std::string, std::string> parameters{};
  std::uint32_t ranks = 2;
  std::vector<std::string> endpoints{};  // by rank; empty: gpu0, gpu1, ...
  std::uint32_t dies = kNobody;          // this rank's process ends
  std::uint32_t dies_at = 0;             // at this step of the group, counted from 0
  std::uint32_t stalls = kNobody;        // this rank stops working
  std::uint32_t stalls_after = 0;  // after this step of the group, until the others have ended
  double deadline_seconds = 20;
  bool raw_samples = false;
};

// Runs rank N with endpoint gpuN through prepare, connect and measure; the ranks prepare and end
// one after another, and meet in between. A rank that ends early leaves the group, which the others
// see as kUnavailable. CHECKs that the parameters parse.
std::vector<RankResult> run_ranks(const KernelRow& row, const RanksOptions& options);

}  // namespace railgauge::fake
