// Knees of curves. Synthetic.
#include "controller/detect/knee.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace railgauge::analysis {
namespace {

// A rate that rises with the size and reaches half of `best` at `half`.
std::vector<CurvePoint> rates(double best, double half) {
  std::vector<CurvePoint> curve;
  for (double bytes = 64; bytes <= 4 << 20; bytes *= 4)
    curve.push_back({bytes, best * bytes / (bytes + half)});
  return curve;
}

TEST(Knee, ARateBendsWhereHalfOfItsBestIsReached) {
  const double knee = knee_of(rates(1e9, 8192), Better::kHigher).value_or(0);
  EXPECT_NEAR(knee, 8192, 1200) << "on a line between sizes";
  EXPECT_NEAR(knee_of(rates(5e8, 8192), Better::kHigher).value_or(0), knee, 1e-6)
      << "slower everywhere is no other knee";
  EXPECT_GT(knee_of(rates(1e9, 32768), Better::kHigher).value_or(0), 3 * knee);
}

TEST(Knee, ATimeBendsWhereItIsTwiceItsLeast) {
  const auto times = [](double ns_per_byte) {
    std::vector<CurvePoint> curve;
    for (double bytes = 8; bytes <= 65536; bytes *= 2)
      curve.push_back({bytes, 1500 + bytes * ns_per_byte});
    return curve;
  };
  EXPECT_NEAR(knee_of(times(0.1), Better::kLower).value_or(0), 15000, 1000);
  EXPECT_LT(knee_of(times(0.4), Better::kLower).value_or(0), 5000) << "worse: a smaller size";
}

TEST(Knee, ADipBelowTheKneeIsNone) {
  auto curve = rates(1e9, 8192);
  const double before = knee_of(curve, Better::kHigher).value_or(0);
  curve[0].value /= 2;
  EXPECT_DOUBLE_EQ(knee_of(curve, Better::kHigher).value_or(0), before);
  auto shuffled = curve;
  std::swap(shuffled.front(), shuffled.back());
  EXPECT_DOUBLE_EQ(knee_of(shuffled, Better::kHigher).value_or(0), before);
}

TEST(Knee, WhatHasNoneSaysSo) {
  EXPECT_FALSE(knee_of({}, Better::kHigher));
  EXPECT_FALSE(knee_of(std::vector<CurvePoint>{{1, 1}, {2, 5}, {4, 9}}, Better::kHigher));
  const std::vector<CurvePoint> flat{{1, 5}, {2, 5}, {4, 5}, {8, 5}, {16, 5}};
  EXPECT_FALSE(knee_of(flat, Better::kHigher));
  EXPECT_FALSE(knee_of(flat, Better::kLower));
  const std::vector<CurvePoint> falls{{1, 9}, {2, 9}, {4, 9}, {8, 9}, {16, 1}};
  EXPECT_FALSE(knee_of(falls, Better::kHigher)) << "its largest size is below half";
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    auto curve = rates(1e9, 8192);
    curve[3].value = bad;
    EXPECT_FALSE(knee_of(curve, Better::kHigher)) << bad;
  }
  auto twice = rates(1e9, 8192);
  twice.push_back(twice.front());
  EXPECT_FALSE(knee_of(twice, Better::kHigher)) << "a size that is there twice";
}

}  // namespace
}  // namespace railgauge::analysis
