#include "controller/mirror/pace.h"

#include <gtest/gtest.h>

namespace railgauge::mirror {
namespace {

TEST(Pace, DoublesItsPausesUpToTheLongest) {
  Pace pace(1, 30, 60);
  double now = 1000;
  for (const double pause : {1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0}) {
    ASSERT_TRUE(pace.is_due(now));
    pace.failed(now);
    EXPECT_EQ(pace.left(now), pause);
    now += pause;
  }
  pace.worked();
  EXPECT_FALSE(pace.is_failing());
  pace.failed(now);
  EXPECT_EQ(pace.left(now), 1);
}

TEST(Pace, TriesAtOnceWhenTheClockWasSetBack) {
  Pace pace(1, 30, 60);
  pace.failed(1000);
  EXPECT_TRUE(pace.is_due(500));
}

TEST(Pace, LetsALineThroughEachMinute) {
  Pace pace(1, 30, 60);
  EXPECT_TRUE(pace.may_log(1000));
  EXPECT_FALSE(pace.may_log(1059));
  EXPECT_TRUE(pace.may_log(1060));
}

TEST(LagBook, IsTheAgeOfTheOldestRowThatIsMissing) {
  LagBook lag(0);
  lag.note_through(0);
  lag.note(10, 100);
  lag.note(10, 103);
  lag.note(20, 105);
  EXPECT_EQ(lag.lag(110), 10);
  lag.note_through(10);
  EXPECT_EQ(lag.lag(110), 7);  // the new row came after the look at 103
  lag.note_through(20);
  EXPECT_EQ(lag.lag(110), 0);
}

TEST(LagBook, CountsFromTheLastEvenTimeOfAnEarlierProcess) {
  LagBook lag(40);
  lag.note(10, 100);
  EXPECT_EQ(lag.lag(100), 60);
}

TEST(LagBook, NeverUnderstatesALongOutage) {
  LagBook lag(0);
  lag.note_through(0);
  for (int i = 1; i <= 100'000; ++i) lag.note(i, i);
  EXPECT_EQ(lag.lag(100'000), 99'999);
  lag.note_through(50'000);
  EXPECT_GE(lag.lag(100'000), 49'999);
}

}  // namespace
}  // namespace railgauge::mirror
