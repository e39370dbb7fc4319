#include "controller/stats/pelt.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

double total_cost(const PrefixSums& sums, const std::vector<std::size_t>& changes, double penalty) {
  double total = 0;
  std::size_t begin = 0;
  for (const std::size_t at : changes) {
    total += sums.cost(begin, at) + penalty;
    begin = at;
  }
  return total + sums.cost(begin, sums.size());
}

// Over all segmentations, by the definition.
double least_cost(const PrefixSums& sums, double penalty, std::size_t least) {
  const std::size_t n = sums.size();
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  best[0] = -penalty;
  for (std::size_t end = least; end <= n; ++end)
    for (std::size_t begin = 0; begin + least <= end; ++begin)
      best[end] = std::min(best[end], best[begin] + sums.cost(begin, end) + penalty);
  return best[n];
}

TEST(Pelt, FindsTheCheapestOfAllSegmentations) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Chance chance(seed);
    std::vector<double> values(5 + seed % 60);
    double level = 0;
    for (double& v : values) {
      if (chance.uniform() < 0.1) level += 4 * chance.normal();
      v = 1000 + level + chance.normal();
    }
    const std::size_t least = 1 + seed % 4;
    const double penalty = 0.5 + 20 * chance.uniform();
    const PrefixSums sums(values);
    const auto changes = pelt(sums, penalty, least);
    std::size_t begin = 0;
    for (const std::size_t at : changes) {
      EXPECT_GE(at, begin + least) << seed;
      begin = at;
    }
    if (!changes.empty()) {
      EXPECT_GE(values.size(), begin + least) << seed;
    }
    EXPECT_NEAR(total_cost(sums, changes, penalty), least_cost(sums, penalty, least), 1e-6) << seed;
  }
}

TEST(Pelt, ASeriesTooShortForTwoPiecesHasNoChange) {
  const std::vector<double> values{1, 1, 9, 9, 9};
  EXPECT_TRUE(pelt(PrefixSums(values), 0.1, 3).empty());
  EXPECT_TRUE(pelt(PrefixSums({}), 0.1, 3).empty());
}

TEST(PrefixSums, TheGainOfASplitIsWhatTheCostsSave) {
  Chance chance(7);
  std::vector<double> values(50);
  for (double& v : values) v = 1e9 + chance.normal();
  const PrefixSums sums(values);
  for (std::size_t at = 6; at < 45; ++at)
    EXPECT_NEAR(sums.gain(5, at, 45), sums.cost(5, 45) - sums.cost(5, at) - sums.cost(at, 45),
                1e-6);
}

}  // namespace
}  // namespace railgauge::analysis
