#include "controller/detect/scale.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace railgauge::analysis {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Scale, PositiveValuesOfOneOrderAreLogarithms) {
  const std::vector<double> values{100, 110, kNaN, 90};
  const Scaled scaled = to_scale(values, 5e-4);
  EXPECT_TRUE(scaled.logarithmic);
  EXPECT_EQ(scaled.indices, (std::vector<std::size_t>{0, 1, 3}));
  ASSERT_EQ(scaled.values.size(), 3U);
  EXPECT_DOUBLE_EQ(scaled.original(scaled.values[1]), 110);
  EXPECT_DOUBLE_EQ(scaled.floor, 5e-4) << "no resolution is seen in three values";
}

TEST(Scale, ValuesAboutZeroKeepTheirProportions) {
  const std::vector<double> values{-5, 1, 0, 4, std::numeric_limits<double>::infinity()};
  const Scaled scaled = to_scale(values, 0.1);
  EXPECT_FALSE(scaled.logarithmic);
  EXPECT_EQ(scaled.values, (std::vector<double>{-1, 0.2, 0, 0.8}));
  EXPECT_DOUBLE_EQ(scaled.original(scaled.values[3]), 4);
  EXPECT_DOUBLE_EQ(scaled.floor, 0.1 * 0.5) << "of the median distance from zero";
}

TEST(Scale, RoundingIsNoise) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) values.push_back(100 + i % 3);
  EXPECT_NEAR(to_scale(values, 5e-4).floor, 1 / std::sqrt(12.0) / 101, 1e-6);
}

TEST(Scale, AMissingRunIsAGapOnTheAxis) {
  const std::vector<double> axis = to_scale(std::vector<double>{kNaN, 1, kNaN, 1}, 5e-4).on_axis(4);
  ASSERT_EQ(axis.size(), 4U);
  EXPECT_TRUE(std::isnan(axis[0]) && std::isnan(axis[2]));
  EXPECT_EQ(axis[1], 0);
  EXPECT_EQ(axis[3], 0);
}

TEST(Scale, NoValuesHaveNoScale) {
  EXPECT_TRUE(to_scale({}, 5e-4).values.empty());
  EXPECT_TRUE(to_scale(std::vector<double>(3, kNaN), 5e-4).values.empty());
}

}  // namespace
}  // namespace railgauge::analysis
