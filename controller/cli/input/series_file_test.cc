// Files of any origin, and the errors about them. Synthetic series.
#include "controller/cli/input/series_file.h"

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
using testing::EndsWith;
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
  std::string many = "a";
  for (int i = 0; i < 999; ++i) many += ",a";
  EXPECT_THAT(error_of(many + "\n"), EndsWith("\"a\" and 992 more"));
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

}  // namespace
}  // namespace railgauge::cli
