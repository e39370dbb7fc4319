// The range in which a step began: it covers as often as it says. Values are drawn by a fixed seed.
#include "controller/findings/begin_range.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge {
namespace {

// `before` values of one level, then `after` of one that is `steps` sizes of the noise lower.
std::vector<double> stepped(analysis::Chance& chance, int before, int after, double steps) {
  std::vector<double> values;
  for (int i = 0; i < before + after; ++i)
    values.push_back(1e10 * std::exp(0.01 * (chance.normal() - (i < before ? 0 : steps))));
  return values;
}

TEST(BeginRange, CoversNineTimesInTen) {
  analysis::Chance chance{11};
  constexpr int kTrials = 400;
  for (const auto& [before, after] : {std::pair(20, 3), std::pair(20, 10), std::pair(6, 6)})
    for (const double steps : {1.0, 2.0, 4.0}) {
      int covered = 0;
      for (int i = 0; i < kTrials; ++i) {
        const auto range = begin_range(stepped(chance, before, after, steps));
        ASSERT_TRUE(range);
        const auto begin = static_cast<std::size_t>(before);
        covered += range->first <= begin && begin <= range->last ? 1 : 0;
      }
      // 0.9 less three standard errors.
      EXPECT_GE(covered, 0.855 * kTrials) << before << " " << after << " " << steps;
    }
}

TEST(BeginRange, IsOneFigureForAStepThatNobodyOverlooks) {
  analysis::Chance chance{3};
  const auto range = begin_range(stepped(chance, 20, 10, 30));
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 20U);
  EXPECT_EQ(range->last, 20U);
}

TEST(BeginRange, IsWideWhereNothingStepsOut) {
  analysis::Chance chance{5};
  constexpr int kTrials = 100;
  std::size_t width = 0;
  for (int i = 0; i < kTrials; ++i) {
    const auto range = begin_range(stepped(chance, 20, 10, 0.5));
    ASSERT_TRUE(range);
    width += range->last - range->first;
  }
  EXPECT_GT(width, 10 * kTrials);
}

TEST(BeginRange, NeedsValuesAndCopesWithEqualOnes) {
  EXPECT_FALSE(begin_range(std::vector<double>(5, 1.0)));
  const std::vector<double> exact{2, 2, 2, 2, 1, 1, 1};
  const auto range = begin_range(exact);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 4U);
  EXPECT_EQ(range->last, 4U);
  const auto all = begin_range(std::vector<double>(8, 3.0));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->first, 1U);
  EXPECT_EQ(all->last, 7U);
}

}  // namespace
}  // namespace railgauge
