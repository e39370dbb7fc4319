#include "controller/stats/shape.h"

#include <cmath>

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

TEST(BrunnerMunzel, MatchesThePublishedExample) {
  // Brunner and Munzel (Biometrical Journal 42, 2000): pain scores, p = 0.0057862, P = 0.788961.
  const std::vector<double> yes{1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 1, 1};
  const std::vector<double> no{3, 3, 4, 3, 1, 2, 3, 1, 1, 5, 4};
  const auto test = brunner_munzel(yes, no);
  ASSERT_TRUE(test);
  EXPECT_NEAR(test->p, 0.0057862, 1e-6);
  EXPECT_NEAR(test->probability, 0.788961, 1e-6);
}

TEST(BrunnerMunzel, EqualDistributionsAreRejectedAsOftenAsTheyShould) {
  int rejected = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Chance chance(seed);
    std::vector<double> a;
    std::vector<double> b;
    for (int i = 0; i < 20; ++i) a.push_back(chance.normal());
    for (int i = 0; i < 20; ++i) b.push_back(3 * chance.normal());
    rejected += brunner_munzel(a, b)->p < 0.05 ? 1 : 0;
  }
  EXPECT_LE(rejected, 75);
  EXPECT_GE(rejected, 25);
}

TEST(BrunnerMunzel, GroupsThatDoNotOverlapHaveTheExactP) {
  const std::vector<double> low{1, 2, 3, 4, 5};
  const std::vector<double> high{6, 7, 8, 9, 10};
  EXPECT_NEAR(brunner_munzel(low, high)->p, 2.0 / 252, 1e-12);
  EXPECT_DOUBLE_EQ(brunner_munzel(low, high)->probability, 1);
  EXPECT_FALSE(brunner_munzel({}, high));
}

TEST(Deciles, AWorseTailShowsWhereTheMedianIsStill) {
  std::vector<float> before;
  for (int i = 0; i < 64; ++i) before.push_back(100.0F + static_cast<float>(i));
  std::vector<float> after = before;
  for (std::size_t i = 50; i < 64; ++i) after[i] *= 1.5F;
  const auto worse = decile_worsening(before, after, Better::kLower);
  EXPECT_NEAR(worse[4], 0, 1e-6);
  EXPECT_NEAR(worse[8], 0.5, 0.01);
}

TEST(Modes, AWeightThatMovesIsTold) {
  Chance chance(1);
  std::vector<double> before;
  std::vector<double> after;
  for (int i = 0; i < 40; ++i) before.push_back((i % 10 == 0 ? 120 : 100) + chance.normal());
  for (int i = 0; i < 40; ++i) after.push_back((i % 10 < 4 ? 120 : 100) + chance.normal());
  const auto modes = mode_weights(before, after, Better::kLower);
  ASSERT_TRUE(modes);
  EXPECT_NEAR(modes->before, 0.1, 1e-9);
  EXPECT_NEAR(modes->after, 0.4, 1e-9);
  EXPECT_TRUE(modes->moved);
  EXPECT_FALSE(mode_weights(before, before, Better::kLower)->moved);
}

TEST(Modes, OneModeIsNone) {
  const auto values = null_series(Null::kGaussian, 80, 1);
  EXPECT_FALSE(
      mode_weights(std::span(values).first(40), std::span(values).last(40), Better::kLower));
}

}  // namespace
}  // namespace railgauge::analysis
