#include "controller/plan/policy/learned_times.h"

#include <algorithm>
#include <cmath>

namespace railgauge::plan {

void LearnedTimes::add(const StageTime& time) {
  const double share = time.seconds / time.longest_seconds;
  if (!(time.longest_seconds > 0) || !(share > 0) || !std::isfinite(share)) return;
  shares_[time.key].push_back(share);
}

// One run that waited for hours does not move a median.
std::optional<double> LearnedTimes::share_of(std::string_view key) const {
  const auto found = shares_.find(key);
  if (found == shares_.end()) return std::nullopt;
  std::vector<double> shares = found->second;
  std::ranges::sort(shares);
  const std::size_t middle = shares.size() / 2;
  return shares.size() % 2 == 1 ? shares[middle] : (shares[middle - 1] + shares[middle]) / 2;
}

}  // namespace railgauge::plan
