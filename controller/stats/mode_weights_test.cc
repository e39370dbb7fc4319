#include "controller/stats/mode_weights.h"

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

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
