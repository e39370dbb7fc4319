#include "controller/schedule/cron.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

double utc(int year, unsigned month, unsigned day, int hour = 0, int minute = 0) {
  const std::chrono::sys_days date{std::chrono::year(year) / std::chrono::month(month) /
                                   std::chrono::day(day)};
  return static_cast<double>(date.time_since_epoch().count()) * 86'400 + hour * 3'600 + minute * 60;
}

// The due times after `after`, up to and with `until`.
std::vector<double> dues(std::string_view cron, const std::string& zone, double after,
                         double until) {
  const auto parsed = parse_cron(cron);
  const auto place = TimeZone::find(zone);
  EXPECT_TRUE(parsed && place);
  std::vector<double> times;
  while (const auto due = next_due(*parsed, *place, after)) {
    if (*due > until) break;
    EXPECT_GT(*due, after) << "each moment once";
    times.push_back(*due);
    after = *due;
  }
  return times;
}

TEST(Cron, ATimeThatDaylightSavingSkipsIsDueAtTheFirstMomentAfterTheGap) {
  EXPECT_THAT(dues("30 2 * * *", "Europe/Berlin", utc(2026, 3, 28, 12), utc(2026, 3, 30, 12)),
              ElementsAre(utc(2026, 3, 29, 1), utc(2026, 3, 30, 0, 30)));
  EXPECT_THAT(dues("30 2 * * *", "America/New_York", utc(2026, 3, 7, 12), utc(2026, 3, 9, 12)),
              ElementsAre(utc(2026, 3, 8, 7), utc(2026, 3, 9, 6, 30)));
}

TEST(Cron, ATimeThatExistsTwiceIsDueOnceTheFirstTime) {
  EXPECT_THAT(dues("30 2 * * *", "Europe/Berlin", utc(2026, 10, 24, 12), utc(2026, 10, 26, 12)),
              ElementsAre(utc(2026, 10, 25, 0, 30), utc(2026, 10, 26, 1, 30)));
  EXPECT_THAT(dues("30 1 * * *", "America/New_York", utc(2026, 10, 31, 12), utc(2026, 11, 2, 12)),
              ElementsAre(utc(2026, 11, 1, 5, 30), utc(2026, 11, 2, 6, 30)));
}

TEST(Cron, QuartersOfAnHourGoOnThroughBothNightsAndAreNeverDoubled) {
  EXPECT_EQ(dues("*/15 * * * *", "Europe/Berlin", utc(2026, 3, 29), utc(2026, 3, 29, 3)).size(),
            12U);
  const auto autumn =
      dues("*/15 * * * *", "Europe/Berlin", utc(2026, 10, 25), utc(2026, 10, 25, 3));
  EXPECT_EQ(autumn.size(), 8U) << "the hour that comes again has none of its own";
  EXPECT_EQ(autumn[2], utc(2026, 10, 25, 0, 45));
  EXPECT_EQ(autumn[3], utc(2026, 10, 25, 2));
}

TEST(Cron, ADayThatAPlaceSkippedAsAWholeIsDueWhenTheNextOneBegins) {
  EXPECT_THAT(dues("0 12 * * *", "Pacific/Apia", utc(2011, 12, 29, 12), utc(2011, 12, 31)),
              ElementsAre(utc(2011, 12, 29, 22), utc(2011, 12, 30, 10), utc(2011, 12, 30, 22)));
}

TEST(Cron, DayAndWeekdayAreEitherWhenBothAreRestricted) {
  EXPECT_THAT(dues("0 0 13 * fri", "UTC", utc(2026, 12, 1), utc(2026, 12, 15)),
              ElementsAre(utc(2026, 12, 4), utc(2026, 12, 11), utc(2026, 12, 13)));
  EXPECT_THAT(dues("0 0 */15 * mon", "UTC", utc(2026, 5, 31), utc(2026, 6, 30)),
              ElementsAre(utc(2026, 6, 1)))
      << "1, 16 and 31, and a Monday";
}

TEST(Cron, LeapDaysComeAndImpossibleOnesNever) {
  EXPECT_THAT(dues("0 0 29 2 *", "UTC", utc(2026, 1, 1), utc(2033, 1, 1)),
              ElementsAre(utc(2028, 2, 29), utc(2032, 2, 29)));
  EXPECT_EQ(next_due(*parse_cron("0 0 30 2 *"), *TimeZone::find("UTC"), 0), std::nullopt);
}

TEST(Cron, ListsRangesStepsAndNamesAreRead) {
  const auto cron = parse_cron("5-8,50/5 1,23 * JAN,jun-aug 7");
  ASSERT_TRUE(cron) << cron.error().message;
  EXPECT_THAT(cron->minutes_of_day,
              ElementsAre(65, 66, 67, 68, 110, 115, 1385, 1386, 1387, 1388, 1430, 1435));
  EXPECT_TRUE(cron->months.test(1) && cron->months.test(7) && !cron->months.test(2));
  EXPECT_TRUE(cron->weekdays.test(0)) << "7 is Sunday";
  EXPECT_EQ(parse_cron("@daily")->minutes_of_day, std::vector<int>{0});
}

TEST(Cron, MistakesAreOneLineThatNamesTheField) {
  for (const auto& [text, words] :
       std::vector<std::pair<std::string, std::string>>{{"0 24 * * *", "hour \"24\""},
                                                        {"0 0 0 * *", "day of the month \"0\""},
                                                        {"0 0 * foo *", "month \"foo\""},
                                                        {"61 * * * *", "minute \"61\""},
                                                        {"9-5 * * * *", "minute \"9-5\""},
                                                        {"*/0 * * * *", "minute \"*/0\""},
                                                        {", * * * *", "minute \"\""},
                                                        {"* * * *", "4 fields, five are wanted"},
                                                        {"@often", "1 field, five are wanted"}}) {
    const auto refused = parse_cron(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message, HasSubstr(words));
    EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
  }
  EXPECT_THAT(TimeZone::find("Europe/Berlim").error().message, HasSubstr("Europe/Berlim"));
}

}  // namespace
}  // namespace railgauge::run
