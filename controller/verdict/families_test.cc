// The detector's answers to families of synthetic series, in small: fewer series than the benchmark
// has, with limits that leave room for so few.
#include "controller/verdict/testing/families.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace railgauge::analysis {
namespace {

constexpr std::uint64_t kSeed = 20261126;
constexpr std::size_t kSeries = 48;

// Share of the family's series with the right steps and drifts.
double right_share(std::string_view name) {
  const std::vector<Family> families = all_families();
  const auto family = std::ranges::find(families, name, &Family::name);
  EXPECT_NE(family, families.end()) << name;
  const Answers answers = ask_detector(*family, kSeries, kSeed);
  return static_cast<double>(answers.right) / static_cast<double>(answers.series);
}

TEST(DetectorFamilies, WhatHasNoChangeStaysQuiet) {
  for (const std::string_view name :
       {"AR(1) -0.9", "AR(1) -0.6", "AR(1) -0.3", "white noise", "AR(1) 0.3", "heavy tails (t3)",
        "skewed", "quantised", "two modes, independent", "one spike and a pair", "week, sine",
        "week, weekends", "alternation", "alternation stops", "AR(1) -0.9 ends as white noise"})
    EXPECT_GE(right_share(name), 0.93) << name;
  EXPECT_GE(right_share("AR(1) 0.6"), 0.88);
  EXPECT_GE(right_share("random walk"), 0.70);
}

TEST(DetectorFamilies, AMovementIsOneDrift) {
  for (const std::string_view name :
       {"linear trend", "quadratic trend", "saturating trend", "slow sine, 0.45 of a period",
        "linear, hardly any noise", "quadratic, hardly any noise", "saturating, hardly any noise",
        "logistic, hardly any noise", "sine, hardly any noise", "ramp between two levels",
        "trend and week", "up, then down"})
    EXPECT_GE(right_share(name), 0.93) << name;
  EXPECT_GE(right_share("logistic trend"), 0.80);
  EXPECT_GE(right_share("trend in AR(1) 0.5"), 0.90);
}

TEST(DetectorFamilies, AStepBesideAMovementIsAStep) {
  EXPECT_GE(right_share("step of 6 inside a trend"), 0.90);
  EXPECT_GE(right_share("step of 6, later a ramp"), 0.90);
  EXPECT_GE(right_share("two steps of 4 the same way"), 0.93);
}

TEST(DetectorFamilies, AlternationSharpens) {
  EXPECT_GE(right_share("step of 1 in AR(1) -0.9"), 0.80);
  EXPECT_GE(right_share("step of 2 in AR(1) -0.6"), 0.90);
  EXPECT_GE(right_share("step of 3 in alternation of 4"), 0.80);
  EXPECT_EQ(right_share("alternation moves, no noise"), 1);
}

TEST(DetectorFamilies, NoStaircaseAndNoTwoChangesInOnePlace) {
  for (const Family& family : all_families()) {
    const Answers answers = ask_detector(family, kSeries / 2, kSeed);
    EXPECT_EQ(answers.crowded, 0U) << family.name;
    EXPECT_LE(answers.staircase, family.name == "logistic trend" ? 4U : 2U) << family.name;
  }
}

}  // namespace
}  // namespace railgauge::analysis
