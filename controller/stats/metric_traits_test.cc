#include "controller/stats/metric_traits.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::analysis {
namespace {

using testing::HasSubstr;

TEST(Traits, DefaultsAreTheStatedBounds) {
  EXPECT_DOUBLE_EQ(traits_of("bytes_per_second", true, "median").delta, 0.01);
  EXPECT_DOUBLE_EQ(traits_of("messages_per_second", true, "median").delta, 0.01);
  EXPECT_DOUBLE_EQ(traits_of("ns", false, "median").delta, 0.02);
  EXPECT_DOUBLE_EQ(traits_of("ns", false, "p99").delta, 0.05);
  EXPECT_DOUBLE_EQ(traits_of("ns", false, "p99.9").delta, 0.10);
}

TEST(Traits, SuitesOverrideThemAndMistakesAreNamed) {
  MetricTraits traits = traits_of("ns", false, "p99");
  ASSERT_TRUE(override_deltas({{"p99", 0.03}, {"rate", 0.5}}, "p99", traits));
  EXPECT_DOUBLE_EQ(traits.delta, 0.03);
  EXPECT_THAT(override_deltas({{"p98", 0.03}}, "p99", traits).error().message, HasSubstr("p98"));
  EXPECT_FALSE(override_deltas({{"p99", 1.5}}, "p99", traits));
}

TEST(Traits, PositiveIsAlwaysWorse) {
  EXPECT_NEAR(worse_fraction(Better::kHigher, log_worsening(Better::kHigher, 0.1)), 0.1, 1e-12);
  EXPECT_NEAR(worse_fraction(Better::kLower, log_worsening(Better::kLower, 0.1)), 0.1, 1e-12);
  EXPECT_GT(oriented(Better::kHigher, std::log(0.9)), 0);
  EXPECT_GT(oriented(Better::kLower, std::log(1.1)), 0);
}

}  // namespace
}  // namespace railgauge::analysis
