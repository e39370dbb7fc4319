// What strangers' files may look like, and what is said about them. Synthetic series.
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

#include "controller/cli/input/series_time.h"
#include "controller/verdict/testing/simulate.h"
#include "kernels/core/text/json.h"

namespace railgauge::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<SeriesFile> read(const std::string& text) {
  std::istringstream in(text);
  return read_series(in, "f.csv");
}

std::string error_of(const std::string& text) {
  const auto file = read(text);
  if (file) return "read";
  EXPECT_EQ(file.error().code, Code::kInvalidArgument);
  EXPECT_EQ(file.error().message.find('\n'), std::string::npos);
  return file.error().message;
}

TEST(SeriesFile, ValuesAloneOrWithTimeWithAndWithoutHeader) {
  EXPECT_THAT(read("1\n2\n3\n")->values, ElementsAre(1, 2, 3));
  EXPECT_THAT(read("value\n1\n2\n")->values, ElementsAre(1, 2));
  EXPECT_THAT(read("time,value\n5,1\n6,2\n")->values, ElementsAre(1, 2));
  EXPECT_THAT(read("5,1\n6,2\n")->values, ElementsAre(1, 2));
  EXPECT_THAT(read("5,1\n6,2\n")->times, ElementsAre("5", "6"));
  EXPECT_THAT(read("node,value,time\na,1,5\nb,2,6\n")->values, ElementsAre(1, 2));
  EXPECT_THAT(read("latency\n1e3\n+2.5\n-3\n")->values, ElementsAre(1000, 2.5, -3));
  EXPECT_THAT(read("a;b\n1;2\n")->values, ElementsAre(2));
  EXPECT_THAT(read("1\t2\n3\t4")->values, ElementsAre(2, 4));
}

TEST(SeriesFile, MarksReturnsQuotesAndCommentsDoNotMatter) {
  const std::string plain = "time,value\n1,10\n2,20\n3,30\n";
  for (const std::string& text :
       {std::string("\xEF\xBB\xBFtime,value\n1,10\n2,20\n3,30\n"),
        std::string("time,value\r\n1,10\r\n2,20\r\n3,30\r\n"),
        std::string("\"time\",\"value\"\n\"1\",\"10\"\n\"2\",20\n3,\"30\""),
        std::string("# from somewhere\ntime, value\n1, 10\n\n2, 20\n3 ,30 \n\n")}) {
    const auto file = read(text);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->values, read(plain)->values) << text;
    EXPECT_EQ(file->times, read(plain)->times) << text;
  }
}

TEST(SeriesFile, GapsKeepTheirPlace) {
  for (const char* gap : {"", "nan", "NaN", "NA", "null", "inf", "-Infinity"}) {
    const auto file = read(fmt::format("time,value\n1,10\n2,{}\n3,30\n", gap));
    ASSERT_TRUE(file) << gap;
    EXPECT_EQ(file->gaps, 1U) << gap;
    EXPECT_TRUE(std::isnan(file->values[1])) << gap;
    EXPECT_EQ(file->rows[2], 2U) << gap;
  }
  const auto lone = read("10\n\n30\n\n\n");
  EXPECT_EQ(lone->values.size(), 3U);
  EXPECT_EQ(lone->gaps, 1U);
}

TEST(SeriesFile, ErrorsNameFileLineAndCause) {
  EXPECT_EQ(error_of(""), "f.csv: there is no value in it");
  EXPECT_EQ(error_of("time,value\n"), "f.csv: there is no value in it");
  EXPECT_EQ(error_of("nan\nnan\n"), "f.csv: there is no value in it");
  EXPECT_EQ(error_of("1\n2\nx\n"), "f.csv:3: value \"x\" is no number");
  EXPECT_EQ(error_of("1,2\n3\n"), "f.csv:2: 1 columns, the lines before have 2");
  EXPECT_EQ(error_of("a,b,c\n1,2,3\n"), "f.csv:1: no column \"value\" among \"a\", \"b\", \"c\"");
  EXPECT_EQ(error_of("1,2,3\n"), "f.csv:1: 3 columns and no header; name one of them \"value\"");
  EXPECT_EQ(error_of("1\n\"2\n"), "f.csv:2: a quote is not closed");
  EXPECT_EQ(error_of("1\n1e999\n"), "f.csv:2: value \"1e999\" is no number");
  EXPECT_EQ(error_of("time\n5\n"), "f.csv:1: no column \"value\" among \"time\"");
  for (const char* tail : {"\n", "", "\n3\n"})
    EXPECT_EQ(error_of("1\n" + std::string(100'000, '7') + tail),
              "f.csv:2: a line longer than 64 KiB is no row of a series");
}

// The time would be taken for the value's whole part, and what follows for the value.
TEST(SeriesFile, DecimalCommasAreRefusedAndNotTakenForSeparators) {
  EXPECT_THAT(error_of("1;2,5\n2;2,6\n"), HasSubstr("\"2,6\" is no number; its decimals need"));
  EXPECT_THAT(error_of("time;value\n1;2,5\n"), HasSubstr("f.csv:2: value \"2,5\" is no number"));
  EXPECT_THAT(error_of("time\tvalue\n1\t1,234.5\n"), HasSubstr("\"1,234.5\" is no number"));
  EXPECT_THAT(read("time;value\n1;2.5\n")->values, ElementsAre(2.5));
}

TEST(SeriesFile, BytesOfZeroAreNoValue) {
  EXPECT_THAT(error_of(std::string("1\n2\0\n", 5)), HasSubstr("f.csv:2: value"));
}

TEST(SeriesFile, AClockThatGoesBackwardIsPutInOrder) {
  const auto file = read("time,value\n2024-01-03,3\n2024-01-01,1\n2024-01-02,2\n");
  ASSERT_TRUE(file);
  EXPECT_THAT(file->values, ElementsAre(1, 2, 3));
  EXPECT_THAT(file->rows, ElementsAre(1, 2, 0));
  ASSERT_EQ(file->notes.size(), 1U);
  EXPECT_THAT(file->notes[0], HasSubstr("1 rows go back in time"));
}

TEST(SeriesFile, RepeatedTimesAreRunsAndOddTimesAreLabels) {
  const auto repeated = read("1,10\n1,20\n1,20\n2,30\n");
  EXPECT_THAT(repeated->values, ElementsAre(10, 20, 20, 30));
  EXPECT_THAT(repeated->notes[0], HasSubstr("2 rows repeat"));
  const auto labels = read("build,value\nv9,1\nv10,2\nv8,3\n");
  EXPECT_THAT(labels->values, ElementsAre(1, 2, 3));
  EXPECT_THAT(read("2024-01-01,1\n2024-06-01,2\n")->notes[0],
              HasSubstr("gaps of more than 30 days"));
}

TEST(SeriesFile, AnyBytesEndInASeriesOrOneLine) {
  constexpr std::string_view kAlphabet = "0123456789.,;-+eE\"\n\n\n\r\tnaNx# \xEF\xBB\xBF";
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    analysis::Chance chance(seed);
    std::string text;
    const auto length = static_cast<std::size_t>(chance.uniform() * 120);
    for (std::size_t i = 0; i < length; ++i)
      text += kAlphabet[static_cast<std::size_t>(chance.uniform() * kAlphabet.size())];
    const auto file = read(text);
    if (!file) {
      EXPECT_EQ(file.error().message.find('\n'), std::string::npos);
      continue;
    }
    ASSERT_EQ(file->values.size(), file->rows.size());
    ASSERT_TRUE(file->times.empty() || file->times.size() == file->values.size());
    analyse_series("f", *file, std::nullopt);
  }
}

TEST(SeriesTime, DatesAndNumbers) {
  EXPECT_DOUBLE_EQ(*parse_series_time("1.5"), 1.5);
  EXPECT_DOUBLE_EQ(*parse_series_time("1970-01-02"), 86400);
  EXPECT_DOUBLE_EQ(*parse_series_time("1970-02"), 31 * 86400);
  EXPECT_DOUBLE_EQ(*parse_series_time("1970-01-01T01:00:00.5Z"), 3600.5);
  EXPECT_DOUBLE_EQ(*parse_series_time("1970-01-01 01:00+01:00"), 0);
  for (const char* odd :
       {"", "x", "1970-13-01", "1970-02-30", "1970-01-01T25:00", "nan", "inf", "1970-01-01Tx"})
    EXPECT_FALSE(parse_series_time(odd)) << odd;
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
  const AnalysedSeries series = analyse_series("f.csv", *read(sample()), analysis::Better::kLower);
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
  EXPECT_THAT(text, HasSubstr("69 points, 1 gaps"));
  EXPECT_THAT(text, HasSubstr("worse"));
  EXPECT_THAT(text, HasSubstr("spike at 10"));
}

TEST(AnalysisReport, JsonKeysAreThoseOfTheContract) {
  AnalysisReport report;
  report.set_schema_version(1);
  *report.add_series() = analyse_series("f.csv", *read(sample()), std::nullopt);
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
  const AnalysedSeries series = analyse_series("f", *read(text), std::nullopt);
  ASSERT_EQ(series.changes_size(), 1);
  EXPECT_EQ(series.changes(0).index(), 29U);  // run 40 of 70 stands in row 29
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
    const AnalysedSeries one = analyse_series("f", *read(sorted), std::nullopt);
    const AnalysedSeries other = analyse_series("f", *read(mixed), std::nullopt);
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
    alarms += analyse_series("f", *read(text), std::nullopt).changes_size() > 0 ? 1 : 0;
  }
  EXPECT_LE(alarms, 10);
}

TEST(AnalysisReport, FewPointsAreSaidToBeFew) {
  const AnalysedSeries series = analyse_series("f", *read("1\n2\n"), std::nullopt);
  EXPECT_EQ(series.changes_size(), 0);
  ASSERT_EQ(series.notes_size(), 1);
  EXPECT_THAT(series.notes(0), HasSubstr("2 points: 12 are needed"));
}

}  // namespace
}  // namespace railgauge::cli
