#include "controller/stats/pelt.h"

#include <algorithm>
#include <limits>

#include "kernels/core/base/result.h"

namespace railgauge::analysis {
namespace {

// A place where the last segment may begin.
struct Start {
  std::size_t at = 0;
  // Cost of the part before, less the sum of squares up to here.
  double best = 0;
  // From this end on the start cannot be the best any more.
  std::size_t dead_at = 0;
};

constexpr std::size_t kAlive = std::numeric_limits<std::size_t>::max();

// Follows the best last starts from the end to the begin.
std::vector<std::size_t> trace(const std::vector<std::size_t>& last) {
  std::vector<std::size_t> changes;
  for (std::size_t end = last.size() - 1; last[end] > 0; end = last[end])
    changes.push_back(last[end]);
  std::ranges::reverse(changes);
  return changes;
}

}  // namespace

PrefixSums::PrefixSums(std::span<const double> values)
    : centre_(values.empty() ? 0 : values[values.size() / 2]),
      sum_(values.size() + 1),
      square_(values.size() + 1) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i] - centre_;
    sum_[i + 1] = sum_[i] + v;
    square_[i + 1] = square_[i] + v * v;
  }
}

double PrefixSums::mean(std::size_t begin, std::size_t end) const {
  return centre_ + (sum_[end] - sum_[begin]) / static_cast<double>(end - begin);
}

double PrefixSums::cost(std::size_t begin, std::size_t end) const {
  const double sum = sum_[end] - sum_[begin];
  const double cost = square_[end] - square_[begin] - sum * sum / static_cast<double>(end - begin);
  return std::max(0.0, cost);
}

double PrefixSums::gain(std::size_t begin, std::size_t at, std::size_t end) const {
  const auto left = static_cast<double>(at - begin);
  const auto right = static_cast<double>(end - at);
  const double shift = (sum_[at] - sum_[begin]) / left - (sum_[end] - sum_[at]) / right;
  return shift * shift * left * right / (left + right);
}

std::vector<std::size_t> pelt(const PrefixSums& sums, double penalty, std::size_t least) {
  RG_CHECK(least >= 1);
  const std::size_t n = sums.size();
  if (n < 2 * least) return {};
  // The inner loop multiplies by inverses of lengths, since a division there is slower.
  std::vector<double> inverse(n + 1);
  for (std::size_t i = 1; i <= n; ++i) inverse[i] = 1 / static_cast<double>(i);
  std::vector<std::size_t> last(n + 1, 0);
  // Best cost up to here, less the sum of squares.
  std::vector<double> value(n + 1, 0.0);
  std::vector<Start> starts{{.at = 0, .best = -penalty, .dead_at = kAlive}};
  std::vector<double> costs;
  std::size_t next_death = kAlive;
  for (std::size_t end = least; end <= n; ++end) {
    if (end >= next_death) {
      std::erase_if(starts, [&](const Start& s) { return s.dead_at <= end; });
      next_death = kAlive;
      for (const Start& start : starts) next_death = std::min(next_death, start.dead_at);
    }
    costs.resize(starts.size());
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const double sum = sums.sum_[end] - sums.sum_[starts[i].at];
      costs[i] = starts[i].best - sum * sum * inverse[end - starts[i].at];
      if (costs[i] >= best) continue;
      best = costs[i];
      last[end] = starts[i].at;
    }
    value[end] = best + penalty;
    // A start that loses to a change at `end` loses to it for ever, once a segment fits behind it.
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (starts[i].dead_at != kAlive || costs[i] <= value[end]) continue;
      starts[i].dead_at = end + least;
      next_death = std::min(next_death, end + least);
    }
    // The segment from here is long enough at end + 1.
    const std::size_t next = end + 1 - least;
    if (next >= least) starts.push_back({.at = next, .best = value[next], .dead_at = kAlive});
  }
  return trace(last);
}

}  // namespace railgauge::analysis
