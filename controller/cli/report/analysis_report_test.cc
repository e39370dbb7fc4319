// The report about series from outside. Synthetic series.
#include "controller/cli/report/analysis_report.h"

#include <cmath>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"
#include "kernels/core/text/json.h"

namespace railgauge::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<SeriesFile> series_of_text(const std::string& text) {
  std::istringstream in(text);
  return read_series(in, "f.csv");
}

// One clear step, a spike and a gap.
std::string sample() {
  std::string text = "time,value\n";
  const auto values = analysis::step_series(40, 30, 8, 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    text += i == 20 ? std::string("2026-01-21,\n")
                    : fmt::format("2026-{:02}-{:02},{:.4f}\n", 1 + i / 28, 1 + i % 28,
                                  values[i] + (i == 10 ? 25 : 0));
  return text;
}

TEST(AnalysisReport, TheStepAndTheSpikeAreToldWithPlaceAndEffect) {
  const AnalysedSeries series =
      analyse_series("f.csv", *series_of_text(sample()), analysis::Better::kLower);
  ASSERT_EQ(series.changes_size(), 1);
  EXPECT_EQ(series.changes(0).index(), 40U);
  EXPECT_EQ(series.changes(0).class_(), "step");
  EXPECT_EQ(series.changes(0).time(), "2026-02-13");
  EXPECT_NEAR(series.changes(0).effect_percent(), 8, 1);
  EXPECT_TRUE(series.changes(0).worse());
  ASSERT_EQ(series.spikes_size(), 1);
  EXPECT_EQ(series.spikes(0).index(), 10U);
  EXPECT_EQ(series.points(), 69U);
  EXPECT_EQ(series.gaps(), 1U);
  const std::string text = analysis_text(series, false);
  EXPECT_THAT(text, HasSubstr("69 points, 1 gap,"));
  EXPECT_THAT(text, HasSubstr("worse"));
  EXPECT_THAT(text, HasSubstr("spike at 10"));
}

TEST(AnalysisReport, ADriftIsOneRowWithItsExtentAndASwingANote) {
  std::string text = "value\n";
  for (std::size_t i = 0; i < 84; ++i)
    text += fmt::format("{}\n", 100 + 0.5 * static_cast<double>(i) + (i % 7 >= 5 ? -8 : 0));
  const AnalysedSeries series =
      analyse_series("f.csv", *series_of_text(text), analysis::Better::kHigher);
  ASSERT_EQ(series.changes_size(), 1);
  EXPECT_EQ(series.changes(0).class_(), "drift");
  EXPECT_EQ(series.changes(0).index_first(), 0U);
  EXPECT_EQ(series.changes(0).index_last(), 83U);
  EXPECT_FALSE(series.changes(0).worse());
  const std::string report = analysis_text(series, false);
  EXPECT_THAT(report, HasSubstr("0-83"));
  EXPECT_THAT(report, HasSubstr("drift"));
  EXPECT_THAT(report, HasSubstr("a swing that repeats every 7 points is no change"));
}

// The noise of a foreign series is not known to be that of a fabric's figures.
TEST(AnalysisReport, AStepFarBelowTheLevelIsFound) {
  std::string text = "value\n";
  for (const double value : analysis::step_series(40, 30, 8, 2))
    text += fmt::format("{:.4f}\n", 1e6 + value);
  const AnalysedSeries series = analyse_series("f.csv", *series_of_text(text), std::nullopt);
  ASSERT_EQ(series.changes_size(), 1);
  EXPECT_EQ(series.changes(0).index(), 40U);
}

TEST(AnalysisReport, JsonKeysAreThoseOfTheContract) {
  AnalysisReport report;
  report.set_schema_version(1);
  *report.add_series() = analyse_series("f.csv", *series_of_text(sample()), std::nullopt);
  const std::string json = to_json(report);
  EXPECT_THAT(json, testing::StartsWith("{\n  \"schema_version\": 1,\n  \"series\": ["));
  for (const char* key : {"\"file\": ", "\"changes\": [", "\"index\": 40", "\"class\": \"step\"",
                          "\"effect_percent\": ", "\"worse\": null", "\"spikes\": ["})
    EXPECT_THAT(json, HasSubstr(key));
}

TEST(AnalysisReport, IndicesAreRowsOfTheFileWhenItsClockGoesBackward) {
  const auto values = analysis::step_series(40, 30, 8, 2);
  std::string text = "time,value\n";
  for (std::size_t i = values.size(); i-- > 0;) text += fmt::format("{},{:.4f}\n", i, values[i]);
  const AnalysedSeries series = analyse_series("f", *series_of_text(text), std::nullopt);
  ASSERT_EQ(series.changes_size(), 1);
  EXPECT_EQ(series.changes(0).index(), 29U);  // run 40 of 70 is in row 29
}

// Rows in any order, with gaps between them: the same changes, each at its own row.
TEST(AnalysisReport, AClockThatGoesToAndFroTellsTheSameChanges) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    analysis::Chance chance(seed);
    const auto values = analysis::step_series(40, 30, 8, seed);
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto swaps = static_cast<int>(chance.uniform() * 100);
    for (int swap = 0; swap < swaps; ++swap)
      std::swap(order[static_cast<std::size_t>(chance.uniform() * 70)],
                order[static_cast<std::size_t>(chance.uniform() * 70)]);
    std::string sorted;
    for (std::size_t i = 0; i < values.size(); ++i)
      sorted += fmt::format("{},{:.6f}\n", 3 * i, values[i]);
    std::string mixed;
    std::map<std::uint32_t, std::uint32_t> row_of;
    for (const std::size_t i : order) {
      row_of[static_cast<std::uint32_t>(i)] = static_cast<std::uint32_t>(row_of.size());
      mixed += fmt::format("{},{:.6f}\n", 3 * i, values[i]);
    }
    const AnalysedSeries one = analyse_series("f", *series_of_text(sorted), std::nullopt);
    const AnalysedSeries other = analyse_series("f", *series_of_text(mixed), std::nullopt);
    ASSERT_GE(one.changes_size(), 1) << seed;
    ASSERT_EQ(one.changes_size(), other.changes_size()) << seed;
    for (int i = 0; i < one.changes_size(); ++i) {
      EXPECT_EQ(row_of[one.changes(i).index()], other.changes(i).index()) << seed;
      EXPECT_EQ(one.changes(i).effect_percent(), other.changes(i).effect_percent()) << seed;
    }
  }
}

// As two exports that overlap give them: they are no news.
TEST(AnalysisReport, RowsThatAreTwiceInTheFileAlarmNobody) {
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::string text;
    std::size_t at = 0;
    for (const double value : analysis::null_series(analysis::Null::kGaussian, 120, seed)) {
      for (int times = 0; times < 2; ++times) text += fmt::format("{},{:.6f}\n", at, value);
      ++at;
    }
    alarms += analyse_series("f", *series_of_text(text), std::nullopt).changes_size() > 0 ? 1 : 0;
  }
  EXPECT_LE(alarms, 10);
}

TEST(AnalysisReport, FewPointsAreSaidToBeFew) {
  const AnalysedSeries series = analyse_series("f", *series_of_text("1\n2\n"), std::nullopt);
  EXPECT_EQ(series.changes_size(), 0);
  ASSERT_EQ(series.notes_size(), 1);
  EXPECT_THAT(series.notes(0), HasSubstr("2 points: 12 are needed"));
}

}  // namespace
}  // namespace railgauge::cli
