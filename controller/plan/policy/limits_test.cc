#include "controller/plan/policy/limits.h"

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::plan {
namespace {

using testing::HasSubstr;

const char* const kBandwidth = "bandwidth_bytes_per_second";

TEST(Limits, APointWithinAllOfThemHasNoProblem) {
  const std::vector<Limit> limits{{.metric = kBandwidth, .size_bytes = 65536, .floor = 5e9},
                                  {.metric = "latency_ns", .ceiling = 5000}};
  EXPECT_FALSE(limit_problem(limits, kBandwidth, 65536, 5e9)) << "the floor itself is enough";
  EXPECT_FALSE(limit_problem(limits, "latency_ns", 8, 5000));
  EXPECT_FALSE(limit_problem(limits, kBandwidth, 4096, 1)) << "another size";
  EXPECT_FALSE(limit_problem(limits, kBandwidth, std::nullopt, 1)) << "a point without a size";
  EXPECT_FALSE(limit_problem(limits, "messages_per_second", 65536, 1));
  EXPECT_FALSE(limit_problem({}, kBandwidth, 65536, 0));
}

TEST(Limits, APointBelowItsFloorNamesTheFloor) {
  const std::vector<Limit> limits{{.metric = kBandwidth, .size_bytes = 65536, .floor = 5e9}};
  const auto problem = limit_problem(limits, kBandwidth, 65536, 4.9e9);
  ASSERT_TRUE(problem);
  EXPECT_THAT(*problem, HasSubstr("at 64KiB is 39.2 Gb/s (4.90 GB/s), below the suite's floor of "
                                  "40.0 Gb/s (5.00 GB/s)"));
}

TEST(Limits, APointAboveItsCeilingNamesTheCeiling) {
  const std::vector<Limit> limits{{.metric = "latency_ns", .ceiling = 5000}};
  const auto problem = limit_problem(limits, "latency_ns", 8, 6000);
  ASSERT_TRUE(problem);
  EXPECT_THAT(*problem, HasSubstr("is 6.00 us, above the suite's ceiling of 5.00 us"));
}

TEST(Limits, WhatIsNoNumberIsBeyondEveryLimit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Limit> floor{{.metric = kBandwidth, .floor = 1}};
  const std::vector<Limit> ceiling{{.metric = kBandwidth, .ceiling = 1}};
  EXPECT_TRUE(limit_problem(floor, kBandwidth, 8, nan));
  EXPECT_TRUE(limit_problem(ceiling, kBandwidth, 8, nan));
}

}  // namespace
}  // namespace railgauge::plan
