// The detector's answers to families of synthetic series, in small: fewer series than the benchmark
// has, and other seeds, with limits that leave room for so few.
#include "controller/verdict/testing/families.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace railgauge::analysis {
namespace {

// The constants of the detector were chosen with these series, too.
constexpr std::uint64_t kSeed = 20261126;
constexpr std::size_t kSeries = 48;

Answers answers_to(std::string_view name) {
  const std::vector<Family> families = all_families();
  const auto family = std::ranges::find(families, name, &Family::name);
  EXPECT_NE(family, families.end()) << name;
  return ask_detector(*family, kSeries, kSeed);
}

// Share of the family's series with the right steps and drifts, in place, direction and size.
double placed_share(std::string_view name) {
  const Answers answers = answers_to(name);
  return static_cast<double>(answers.placed) / static_cast<double>(answers.series);
}

TEST(DetectorFamilies, WhatHasNoChangeStaysQuiet) {
  for (const std::string_view name :
       {"AR(1) -0.9", "AR(1) -0.6", "AR(1) -0.3", "white noise", "AR(1) 0.3", "heavy tails (t3)",
        "skewed", "quantised", "two modes, independent", "one spike and a pair", "week, sine",
        "week, weekends", "week, sine, missing runs", "week, weekends, missing runs", "alternation",
        "alternation stops", "AR(1) -0.9 ends as white noise", "spread grows fourfold"}) {
    const Answers answers = answers_to(name);
    EXPECT_GE(answers.right, kSeries * 95 / 100) << name;
    EXPECT_LE(answers.spread, 1U) << name;
  }
  EXPECT_GE(placed_share("AR(1) 0.6"), 0.88);
  EXPECT_GE(placed_share("random walk"), 0.70);
}

TEST(DetectorFamilies, AMovementIsOneDriftOfItsSize) {
  for (const std::string_view name :
       {"linear trend", "slow sine, 0.45 of a period", "linear, hardly any noise",
        "quadratic, hardly any noise", "saturating, hardly any noise", "sine, hardly any noise",
        "trend and week", "up, then down", "trend with a gap", "rise of 12, fall of 5 at its end"})
    EXPECT_GE(placed_share(name), 0.95) << name;
  EXPECT_GE(placed_share("quadratic trend"), 0.90);
  EXPECT_GE(placed_share("ramp between two levels"), 0.90);
  EXPECT_GE(placed_share("trend in AR(1) 0.5"), 0.90);
  // A curve's flat end may lie beyond its drift.
  EXPECT_GE(placed_share("saturating trend"), 0.70);
  EXPECT_GE(answers_to("saturating trend").right, kSeries * 92 / 100);
  EXPECT_GE(answers_to("logistic, hardly any noise").right, kSeries * 95 / 100);
  EXPECT_GE(placed_share("logistic trend"), 0.65);
  EXPECT_GE(answers_to("logistic trend").right, kSeries * 85 / 100);
}

TEST(DetectorFamilies, AStepBesideAMovementIsAStep) {
  EXPECT_GE(placed_share("step of 6 inside a trend"), 0.92);
  EXPECT_GE(placed_share("step of 6, later a ramp"), 0.92);
  EXPECT_GE(placed_share("step of 6, 3 to 8 runs before a trend's end"), 0.75);
}

TEST(DetectorFamilies, AStepIsOneOfItsSize) {
  for (const std::string_view name :
       {"step of 5", "step of 10", "step of 5 in a week", "step of 5, missing runs",
        "two steps of 4 the same way", "step of 5 and its end", "step of 8 in 1 to 6 runs",
        "stairs of 5 every 20, little noise"})
    EXPECT_GE(placed_share(name), 0.95) << name;
  EXPECT_GE(placed_share("step of 3"), 0.90);
  EXPECT_GE(placed_share("step of 5 in heavy tails"), 0.88);
}

TEST(DetectorFamilies, AlternationSharpens) {
  EXPECT_GE(placed_share("step of 1 in AR(1) -0.9"), 0.80);
  EXPECT_GE(placed_share("step of 2 in AR(1) -0.6"), 0.90);
  EXPECT_GE(placed_share("step of 3 in alternation of 4"), 0.75);
  EXPECT_EQ(placed_share("alternation moves, no noise"), 1);
}

TEST(DetectorFamilies, NoStaircaseAndNoTwoChangesInOnePlace) {
  for (const Family& family : all_families()) {
    const Answers answers = ask_detector(family, kSeries, kSeed);
    EXPECT_EQ(answers.crowded, 0U) << family.name;
    EXPECT_LE(answers.staircase, 1U) << family.name;
  }
}

}  // namespace
}  // namespace railgauge::analysis
