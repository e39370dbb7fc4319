#include "kernels/core/stats/quantile.h"

#include <vector>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  std::vector<double> values{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile_in(values, 0), 1);
  EXPECT_DOUBLE_EQ(quantile_in(values, 1), 4);
  EXPECT_DOUBLE_EQ(quantile_in(values, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(median_in(values), 2.5);
}

TEST(Quantile, MedianKeepsTheOrderOfItsInput) {
  const std::vector<double> values{5, 1, 9};
  EXPECT_DOUBLE_EQ(median(values), 5);
  EXPECT_EQ(values.front(), 5);
}

}  // namespace
}  // namespace railgauge
