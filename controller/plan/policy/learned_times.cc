#include "controller/plan/policy/learned_times.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace railgauge::plan {

void LearnedTimes::add(const StageTime& time) {
  const double share = time.seconds / time.longest_seconds;
  if (!(time.longest_seconds > 0) || !(share > 0) || !std::isfinite(share)) return;
  shares_[time.key].push_back(share);
}

namespace {

// Number of nodes by which a run of nearly as many is still like it.
constexpr double kMostTimesNodes = 2;

// A key without its number of nodes, and that number; 0: the key has none.
struct SizedKey {
  std::string rest{};
  double nodes = 0;
};
SizedKey sized(std::string_view key) {
  constexpr std::string_view kOf = " of ";
  constexpr std::string_view kNodes = " nodes";
  for (std::size_t at = key.find(kOf); at != key.npos; at = key.find(kOf, at + 1)) {
    double nodes = 0;
    const char* begin = key.data() + at + kOf.size();
    const auto [end, error] = std::from_chars(begin, key.data() + key.size(), nodes);
    const std::string_view after(end, static_cast<std::size_t>(key.data() + key.size() - end));
    if (error == std::errc() && nodes > 0 && after.starts_with(kNodes))
      return {.rest = std::string(key.substr(0, at)) + std::string(after), .nodes = nodes};
  }
  return {.rest = std::string(key)};
}

}  // namespace

// One run that waited for hours does not move a median.
std::optional<double> LearnedTimes::share_of(std::string_view key) const {
  auto found = shares_.find(key);
  if (found == shares_.end()) found = nearest(key);
  if (found == shares_.end()) return std::nullopt;
  std::vector<double> shares = found->second;
  std::ranges::sort(shares);
  const std::size_t middle = shares.size() / 2;
  return shares.size() % 2 == 1 ? shares[middle] : (shares[middle - 1] + shares[middle]) / 2;
}

LearnedTimes::Shares::const_iterator LearnedTimes::nearest(std::string_view key) const {
  const SizedKey wanted = sized(key);
  auto best = shares_.end();
  double best_times = kMostTimesNodes;
  if (wanted.nodes == 0) return best;
  for (auto one = shares_.begin(); one != shares_.end(); ++one) {
    const SizedKey other = sized(one->first);
    if (other.nodes == 0 || other.rest != wanted.rest) continue;
    const double times = std::max(other.nodes / wanted.nodes, wanted.nodes / other.nodes);
    if (times > best_times) continue;
    best = one;
    best_times = times;
  }
  return best;
}

}  // namespace railgauge::plan
