#include "controller/schedule/schedule.h"

#include <chrono>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::run {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = Decision::Kind;

double utc(int year, unsigned month, unsigned day, int hour = 0, int minute = 0) {
  const std::chrono::sys_days date{std::chrono::year(year) / std::chrono::month(month) /
                                   std::chrono::day(day)};
  return static_cast<double>(date.time_since_epoch().count()) * 86'400 + hour * 3'600 + minute * 60;
}

ScheduleText nightly() { return {.name = "nightly", .cron = "30 1 * * *"}; }

Schedule compiled(const ScheduleText& text) {
  const auto schedule = compile(text);
  EXPECT_TRUE(schedule) << schedule.error().message;
  return *schedule;
}

const double kMonday = utc(2026, 11, 23);  // 00:00

TEST(Schedule, ItStartsWhenDueAndNotBeforeAndOnce) {
  const Schedule schedule = compiled(nightly());
  EXPECT_THAT(decide(schedule, {.decided_until = kMonday}, kMonday + 5'399), IsEmpty());
  const auto due = decide(schedule, {.decided_until = kMonday}, kMonday + 5'400);
  ASSERT_THAT(due, SizeIs(1));
  EXPECT_EQ(due[0].kind, Kind::kStart);
  EXPECT_EQ(due[0].due_at, kMonday + 5'400);
  EXPECT_EQ(due[0].reason, "");
  EXPECT_THAT(decide(schedule, {.decided_until = due[0].due_at}, kMonday + 5'401), IsEmpty());
}

TEST(Schedule, ItsLongestPauseIsThatOfWindowsAndWeekendsToo) {
  constexpr double kDay = 86'400;
  EXPECT_EQ(longest_pause(compiled(nightly()), kMonday), kDay);
  EXPECT_EQ(longest_pause(compiled({.name = "q", .cron = "*/15 * * * *"}), kMonday), 900);
  EXPECT_EQ(longest_pause(compiled({.name = "w", .cron = "@weekly"}), kMonday), 7 * kDay);
  EXPECT_EQ(longest_pause(compiled({.name = "d", .cron = "30 1 * * mon-fri"}), kMonday), 3 * kDay);
  ScheduleText weekends = nightly();
  weekends.windows = "sat,sun";
  EXPECT_EQ(longest_pause(compiled(weekends), kMonday), 6 * kDay);
  ScheduleText once = nightly();
  once.blackouts = "2026-11-24..2060-01-01";
  EXPECT_FALSE(longest_pause(compiled(once), kMonday)) << "one start is left";
}

TEST(Schedule, AnInterruptedRunIsResumedForHoursInItsWindowAndBeforeTheNextDueTime) {
  const double due = kMonday + 5'400;
  EXPECT_EQ(reason_not_to_resume(compiled(nightly()), due, due + kResumeSeconds), "");
  EXPECT_EQ(reason_not_to_resume(compiled(nightly()), due, due + 7 * 3'600), "it began 7.0 h ago");
  ScheduleText text = nightly();
  text.catch_up_seconds = 8 * 3'600;
  EXPECT_EQ(reason_not_to_resume(compiled(text), due, due + 7 * 3'600), "");
  EXPECT_NE(reason_not_to_resume(compiled(text), due, due + 9 * 3'600), "");
  text = nightly();
  text.windows = "01:00-03:00";
  EXPECT_EQ(reason_not_to_resume(compiled(text), due, due + 3'600), "");
  EXPECT_EQ(reason_not_to_resume(compiled(text), due, due + 2 * 3'600),
            "it is outside the schedule's windows");
  text = {.name = "late", .cron = "30 23 * * *", .blackouts = "2026-11-24"};
  EXPECT_EQ(reason_not_to_resume(compiled(text), kMonday + 23.5 * 3'600, kMonday + 24 * 3'600),
            "it is a blackout day");
}

TEST(Schedule, AnInterruptedRunYieldsToTheNextDueTimeUnlessTheyQueue) {
  ScheduleText text{.name = "q", .cron = "*/15 * * * *"};
  EXPECT_EQ(reason_not_to_resume(compiled(text), kMonday, kMonday + 899), "");
  EXPECT_EQ(reason_not_to_resume(compiled(text), kMonday, kMonday + 900),
            "the next due time has come");
  text.concurrency = "queue";
  EXPECT_EQ(reason_not_to_resume(compiled(text), kMonday, kMonday + 900), "");
}

TEST(Schedule, JitterIsTheSameForADayAndDiffersBetweenDaysAndNames) {
  ScheduleText text = nightly();
  text.jitter_seconds = 3'600;
  const Schedule schedule = compiled(text);
  std::set<double> seen;
  for (int day = 0; day < 20; ++day) {
    const double due = kMonday + day * 86'400.0 + 5'400;
    const double jitter = jitter_of(schedule, due);
    EXPECT_EQ(jitter, jitter_of(compiled(text), due)) << "also after a restart";
    EXPECT_TRUE(jitter >= 0 && jitter <= 3'600);
    seen.insert(jitter);
    EXPECT_THAT(decide(schedule, {.decided_until = due - 1}, due + jitter - 1), IsEmpty());
    EXPECT_THAT(decide(schedule, {.decided_until = due - 1}, due + jitter), SizeIs(1));
  }
  EXPECT_GT(seen.size(), 15U);
  text.name = "other";
  EXPECT_NE(jitter_of(schedule, kMonday), jitter_of(compiled(text), kMonday));
}

// A day's jitter is drawn anew at midnight: a late 23:45 must not come after an early 00:00.
TEST(Schedule, JitterNeverMakesAStartComeAfterTheNextOnesDueTime) {
  for (int i = 0; i < 20; ++i) {
    const Schedule schedule =
        compiled({.name = fmt::format("q{}", i), .cron = "*/15 * * * *", .jitter_seconds = 3'600});
    ScheduleState state{.decided_until = kMonday};
    for (double now = kMonday; now < kMonday + 2 * 86'400; now += 10)
      for (const Decision& decision : decide(schedule, state, now)) {
        ASSERT_EQ(decision.kind, Kind::kStart) << decision.reason;
        ASSERT_LT(now, decision.due_at + 900 + 10) << "it waited for the next one";
        ASSERT_EQ(decision.due_at, state.decided_until + 900);
        state.decided_until = decision.due_at;
      }
  }
}

// To the last second of the room that there is.
TEST(Schedule, JitterEndsOneSecondBeforeTheNextOneTheWindowsEndAndABlackoutDay) {
  std::map<std::string, double> latest;
  for (int i = 0; i < 600; ++i) {
    ScheduleText text{.name = fmt::format("q{}", i), .cron = "* * * * *", .jitter_seconds = 3'600};
    const auto see = [&](const char* what, double due) {
      double& seen = latest[what];
      seen = std::max(seen, jitter_of(compiled(text), due));
    };
    see("the next one", kMonday);
    text.cron = "30 1 * * *";
    text.windows = "00:00-01:31";
    see("the window", kMonday + 5'400);
    text.windows = "";
    text.cron = "59 23 * * *";
    text.blackouts = "2026-11-24";
    see("the blackout", kMonday + 86'340);
  }
  for (const auto& [what, seconds] : latest) EXPECT_EQ(seconds, 59) << what;
}

TEST(Schedule, JitterKeepsAStartWithinItsWindowAndItsDay) {
  ScheduleText text = nightly();
  text.jitter_seconds = 3'600;
  text.windows = "00:00-01:40";
  std::set<double> seen;
  for (int day = 0; day < 30; ++day) {
    const double due = kMonday + day * 86'400 + 5'400;
    const double jitter = jitter_of(compiled(text), due);
    EXPECT_LT(jitter, 600) << "ten minutes of its window are left";
    EXPECT_EQ(decide(compiled(text), {.decided_until = due - 1}, due + jitter).at(0).kind,
              Kind::kStart);
    seen.insert(jitter);
  }
  EXPECT_GT(seen.size(), 10u);
  ScheduleText late{.name = "late", .cron = "50 23 * * *", .jitter_seconds = 7'200};
  late.blackouts = "2026-11-24";
  EXPECT_LT(jitter_of(compiled(late), kMonday + 85'800), 600);
}

TEST(Schedule, AWindowOverMidnightBelongsToTheDayOnWhichItBegins) {
  ScheduleText text = nightly();
  text.windows = "fri 22:00-06:00; sun";
  const Schedule schedule = compiled(text);
  EXPECT_FALSE(in_window(schedule, kMonday + 4 * 86'400 + 21 * 3'600)) << "Friday 21:00";
  EXPECT_TRUE(in_window(schedule, kMonday + 4 * 86'400 + 22 * 3'600));
  EXPECT_TRUE(in_window(schedule, kMonday + 5 * 86'400 + 5 * 3'600)) << "Saturday 05:00";
  EXPECT_FALSE(in_window(schedule, kMonday + 5 * 86'400 + 6 * 3'600));
  EXPECT_FALSE(in_window(schedule, kMonday + 4 * 86'400 + 5 * 3'600)) << "Friday 05:00";
  EXPECT_TRUE(in_window(schedule, kMonday + 6 * 86'400 + 12 * 3'600));
  const auto skipped = decide(schedule, {.decided_until = kMonday}, kMonday + 5'400);
  ASSERT_THAT(skipped, SizeIs(1));
  EXPECT_EQ(skipped[0].kind, Kind::kSkip);
  EXPECT_EQ(skipped[0].reason, "outside its windows");
}

TEST(Schedule, BlackoutDaysAreDaysOfTheZone) {
  ScheduleText text = nightly();
  text.zone = "America/New_York";  // 01:30 there is 06:30 UTC
  text.blackouts = "2026-12-24, 2026-12-31..2027-01-02";
  const Schedule schedule = compiled(text);
  EXPECT_TRUE(in_blackout(schedule, utc(2026, 12, 24, 6, 30)));
  EXPECT_FALSE(in_blackout(schedule, utc(2026, 12, 24, 4))) << "still the 23rd in New York";
  const auto next = next_start(schedule, utc(2026, 12, 30, 12));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->due_at, utc(2027, 1, 3, 6, 30));
}

TEST(Schedule, ARunStillUnderWaySkipsQueuesOrIsReplaced) {
  ScheduleText text = nightly();
  const ScheduleState state{.decided_until = kMonday, .run_under_way = true};
  EXPECT_EQ(decide(compiled(text), state, kMonday + 5'400)[0].kind, Kind::kSkip);
  text.concurrency = "queue";
  EXPECT_EQ(decide(compiled(text), state, kMonday + 5'400)[0].kind, Kind::kStart);
  EXPECT_FALSE(decide(compiled(text), state, kMonday + 5'400)[0].replace);
  text.concurrency = "replace";
  EXPECT_TRUE(decide(compiled(text), state, kMonday + 5'400)[0].replace);
}

TEST(Schedule, AStartThatIsAFewMinutesLateIsInTimeAndLaterOnesAreReported) {
  const Schedule schedule = compiled(nightly());
  const ScheduleState state{.decided_until = kMonday};
  EXPECT_EQ(decide(schedule, state, kMonday + 5'400 + 300)[0].kind, Kind::kStart);
  const auto missed = decide(schedule, state, kMonday + 5'400 + 2 * 86'400 + 7'200);
  ASSERT_THAT(missed, SizeIs(1));
  EXPECT_EQ(missed[0].kind, Kind::kMiss);
  EXPECT_EQ(missed[0].due_at, kMonday + 5'400 + 2 * 86'400);
  EXPECT_EQ(missed[0].reason, "3 due times passed without a start, the newest 2.0 h ago");
}

TEST(Schedule, TheNewestMissedOneIsMadeUpForWhenItIsNotTooOld) {
  ScheduleText text = nightly();
  text.catch_up_seconds = 6 * 3'600;
  const Schedule schedule = compiled(text);
  const ScheduleState state{.decided_until = kMonday};
  const double due = kMonday + 5'400 + 2 * 86'400;
  const auto late = decide(schedule, state, due + 5 * 3'600);
  ASSERT_THAT(late, SizeIs(1));
  EXPECT_EQ(late[0].kind, Kind::kStart);
  EXPECT_EQ(late[0].due_at, due);
  EXPECT_THAT(late[0].reason, HasSubstr("made up for: 3 due times"));
  EXPECT_EQ(decide(schedule, state, due + 7 * 3'600)[0].kind, Kind::kMiss);
  text.windows = "00:00-04:00";
  const auto outside = decide(compiled(text), state, due + 5 * 3'600);
  EXPECT_EQ(outside[0].kind, Kind::kMiss);
  EXPECT_THAT(outside[0].reason, HasSubstr("outside its windows"));
}

TEST(Schedule, AMissAndADueTimeAreOneStart) {
  ScheduleText text = nightly();
  text.catch_up_seconds = 48 * 3'600;
  const auto both =
      decide(compiled(text), {.decided_until = kMonday}, kMonday + 5'400 + 86'400 + 1);
  ASSERT_THAT(both, SizeIs(2));
  EXPECT_EQ(both[0].kind, Kind::kMiss);
  EXPECT_EQ(both[1].kind, Kind::kStart);
  EXPECT_EQ(both[1].due_at, kMonday + 5'400 + 86'400);
}

TEST(Schedule, AnAbsenceOfAYearIsToldInOneLine) {
  ScheduleText text = nightly();
  text.cron = "* * * * *";
  const auto missed =
      decide(compiled(text), {.decided_until = kMonday - 365 * 86'400.0}, kMonday + 1);
  ASSERT_FALSE(missed.empty());
  ASSERT_LE(missed.size(), 2U);
  EXPECT_EQ(missed[0].kind, Kind::kMiss);
  EXPECT_THAT(missed[0].reason, HasSubstr("or more due times passed"));
}

// A controller that looks every few minutes, and is restarted at random: what is decided is kept.
TEST(Schedule, ThroughBothChangesOfTheClockEveryDueTimeStartsExactlyOnce) {
  std::mt19937 random(20261122);
  for (const auto& [zone, from] :
       std::vector<std::pair<std::string, double>>{{"Europe/Berlin", utc(2026, 3, 20)},
                                                   {"Europe/Berlin", utc(2026, 10, 20)},
                                                   {"America/New_York", utc(2026, 3, 1)},
                                                   {"America/New_York", utc(2026, 10, 25)}}) {
    ScheduleText text{.name = "x", .cron = "7,37 1,2,3 * * *", .zone = zone};
    const double until = from + 14 * 86'400.0;
    std::multiset<double> started;
    ScheduleState state{.decided_until = from};
    for (double now = from; now < until; now += static_cast<double>(random() % 250)) {
      const Schedule schedule = compiled(text);
      for (const Decision& decision : decide(schedule, state, now)) {
        ASSERT_EQ(decision.kind, Kind::kStart);
        started.insert(decision.due_at);
        state.decided_until = decision.due_at;
      }
    }
    const Schedule schedule = compiled(text);
    std::multiset<double> wanted;
    for (auto due = next_due(schedule.cron, schedule.zone, from); due && *due < until - 300;
         due = next_due(schedule.cron, schedule.zone, *due))
      wanted.insert(*due);
    EXPECT_EQ(started, wanted) << zone;
  }
}

TEST(Schedule, MistakesAreOneLine) {
  const auto refusal = [](auto change) {
    ScheduleText text = nightly();
    change(text);
    const auto refused = compile(text);
    return refused ? std::string("taken") : refused.error().message;
  };
  EXPECT_THAT(refusal([](auto& t) { t.name = "a b"; }), HasSubstr("schedule name \"a b\""));
  EXPECT_THAT(refusal([](auto& t) { t.zone = "Mars/Base"; }), HasSubstr("Mars/Base"));
  EXPECT_THAT(refusal([](auto& t) { t.windows = "mon 25:00-26:00"; }), HasSubstr("window"));
  EXPECT_THAT(refusal([](auto& t) { t.windows = "mo"; }), HasSubstr("window \"mo\""));
  EXPECT_THAT(refusal([](auto& t) { t.blackouts = "2026-02-30"; }), HasSubstr("blackout"));
  EXPECT_THAT(refusal([](auto& t) { t.blackouts = "2026-12-24..2026-12-20"; }),
              HasSubstr("blackout"));
  EXPECT_THAT(refusal([](auto& t) { t.concurrency = "both"; }), HasSubstr("skip, queue, replace"));
  EXPECT_THAT(refusal([](auto& t) { t.jitter_seconds = 1e9; }), HasSubstr("jitter"));
  EXPECT_THAT(refusal([](auto& t) { t.cron = "0 0 31 6 *"; }), HasSubstr("never due"));
}

}  // namespace
}  // namespace railgauge::run
