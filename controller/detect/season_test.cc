#include "controller/detect/season.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

// Least swing of a season in these tests.
constexpr double kFloor = 1e-6;

// Noise of deviation 1 about 100 with a sine of that height and period.
std::vector<double> swinging(std::size_t runs, double period, double height, std::uint64_t seed) {
  std::vector<double> values = null_series(Null::kGaussian, runs, seed);
  for (std::size_t i = 0; i < runs; ++i)
    values[i] += height * std::sin(2 * std::numbers::pi * static_cast<double>(i) / period);
  return values;
}

TEST(Season, AWeekIsFoundWithItsPattern) {
  const Season season = find_season(swinging(140, 7, 3, 1), kFloor);
  ASSERT_EQ(season.period, 7U);
  double sum = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_NEAR(season.at(i), 3 * std::sin(2 * std::numbers::pi * static_cast<double>(i) / 7), 1);
    sum += season.at(i);
  }
  EXPECT_NEAR(sum, 0, 1e-9);
  EXPECT_EQ(season.at(3), season.at(10));
}

TEST(Season, AYearOfMonthsIsFoundBesideAStepAndATrend) {
  std::vector<double> values = swinging(144, 12, 3, 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] += 0.2 * static_cast<double>(i) + (i >= 70 ? 15 : 0);
  EXPECT_EQ(find_season(values, kFloor).period, 12U);
}

TEST(Season, AlternationIsASeasonOfTwo) {
  std::vector<double> values;
  for (std::size_t i = 0; i < 20; ++i) values.push_back(i % 2 == 0 ? 1 : 2);
  const Season season = find_season(values, kFloor);
  ASSERT_EQ(season.period, 2U);
  EXPECT_NEAR(season.at(0), -0.5, 1e-12);
  EXPECT_NEAR(season.at(1), 0.5, 1e-12);
}

TEST(Season, MissingRunsKeepThePhase) {
  std::vector<double> values = swinging(140, 7, 3, 4);
  const Season whole = find_season(values, kFloor);
  ASSERT_EQ(whole.period, 7U);
  // Blocks and single runs, none of them in step with the period.
  for (const std::size_t i : {11U, 30U, 31U, 32U, 57U, 75U, 76U, 90U, 103U, 118U})
    values[i] = std::nan("");
  const Season season = find_season(values, kFloor);
  ASSERT_EQ(season.period, 7U);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(season.at(i), whole.at(i), 0.5) << i;
}

TEST(Season, ATrendWithoutRunsAtWeekendsHasNone) {
  std::vector<double> values(140);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 7 >= 5 ? std::nan("") : 100 + 0.1 * static_cast<double>(i);
  EXPECT_EQ(find_season(values, kFloor).period, 0U);
}

TEST(Season, StairsTakeNothingBack) {
  for (const std::size_t length : {12U, 15U, 20U, 25U, 30U})
    for (const double way : {-1.0, 1.0}) {
      std::vector<double> values;
      for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t step = i / length;
        values.push_back(100 + way * static_cast<double>(step));
      }
      EXPECT_EQ(find_season(values, kFloor).period, 0U) << way * static_cast<double>(length);
    }
}

TEST(Season, ASwingOnATrendIsFoundWhileItTakesBackHalf) {
  for (const double slope : {0.3, 0.6}) {
    std::vector<double> values = swinging(140, 7, 3, 5);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += slope * static_cast<double>(i);
    EXPECT_EQ(find_season(values, kFloor).period, 7U) << slope;
  }
}

TEST(Season, RoundingHasNone) {
  for (const double step : {0.1, 1.0 / 3, 0.01})
    for (const std::size_t runs : {40U, 100U}) {
      std::vector<double> values;
      for (std::size_t i = 0; i < runs; ++i)
        values.push_back(-5 * step + step * static_cast<double>(i));
      EXPECT_EQ(find_season(values, kFloor).period, 0U) << step << " " << runs;
    }
}

TEST(Season, NoiseOfAnyCorrelationSeldomHasOne) {
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed)
    for (const Null kind : {Null::kGaussian, Null::kCorrelated, Null::kBimodal})
      found += find_season(null_series(kind, 90, seed), kFloor).period > 0 ? 1 : 0;
  EXPECT_LE(found, 12U);
}

TEST(Season, FewOrEqualValuesHaveNone) {
  EXPECT_EQ(find_season({}, kFloor).period, 0U);
  EXPECT_EQ(find_season(std::vector<double>(11, 1.0), kFloor).period, 0U);
  EXPECT_EQ(find_season(std::vector<double>(90, 1.0), kFloor).period, 0U);
}

}  // namespace
}  // namespace railgauge::analysis
