// Schedules in the store: their state, and that a due time is decided once.
#include "controller/store/queries/schedules.h"

#include <filesystem>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/schema.h"

namespace railgauge::store {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class ScheduleStoreTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    ASSERT_TRUE(store_->add_schedule(weekly()));
  }
  static ScheduleRow weekly() {
    return {.name = "weekly",
            .suite = "fabric",
            .node_set = "gpu[1-4]",
            .cron = "0 3 * * sun",
            .zone = "Europe/Berlin",
            .jitter_seconds = 60,
            .windows = "sun",
            .blackouts = "2026-12-24",
            .concurrency = "queue",
            .catch_up_seconds = 3600,
            .created_at = 1e9,
            .created_by = "ann",
            .decided_until = 1e9};
  }
  ScheduleRow named(const std::string& name) {
    const auto schedules = store_->list_schedules();
    EXPECT_TRUE(schedules);
    for (const ScheduleRow& row : *schedules)
      if (row.name == name) return row;
    ADD_FAILURE() << "no schedule " << name;
    return {};
  }
};

TEST_F(ScheduleStoreTest, ShippedOnesArePausedAndStayAwayOnceRemoved) {
  EXPECT_TRUE(named("nightly").paused);
  EXPECT_EQ(named("nightly").created_by, "shipped");
  ASSERT_TRUE(store_->remove_schedule("nightly"));
  reopen();
  EXPECT_THAT(*store_->list_schedules(), SizeIs(2));
}

TEST_F(ScheduleStoreTest, AScheduleComesBackAsItWasWritten) {
  reopen();
  const ScheduleRow row = named("weekly");
  EXPECT_EQ(row.suite, "fabric");
  EXPECT_EQ(row.node_set, "gpu[1-4]");
  EXPECT_EQ(row.cron, "0 3 * * sun");
  EXPECT_EQ(row.zone, "Europe/Berlin");
  EXPECT_EQ(row.jitter_seconds, 60);
  EXPECT_EQ(row.windows, "sun");
  EXPECT_EQ(row.blackouts, "2026-12-24");
  EXPECT_EQ(row.concurrency, "queue");
  EXPECT_EQ(row.catch_up_seconds, 3600);
  EXPECT_FALSE(row.paused || row.exclusive || row.last || row.newest);
  EXPECT_EQ(row.decided_until, 1e9);
  EXPECT_EQ(store_->add_schedule(weekly()).error().code, Code::kAlreadyExists);
}

TEST_F(ScheduleStoreTest, ADueTimeIsOneRunsOrNone) {
  const ScheduleClaim claim{.schedule = "weekly", .due_at = 2e9};
  ASSERT_TRUE(store_->create_run(run_row("r1"), pair_tasks(1), claim));
  const Status again = store_->create_run(run_row("r2"), pair_tasks(1), claim);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kAlreadyExists);
  EXPECT_THAT(*store_->list_runs(9), SizeIs(1)) << "no run without its claim";
  EXPECT_EQ(
      store_->decide_due("weekly", {.due_at = 2e9, .result = DueResult::kMissed}).error().code,
      Code::kAlreadyExists);
  EXPECT_EQ(named("weekly").decided_until, 2e9);
  EXPECT_EQ(named("weekly").last->run_id, "r1");
}

TEST_F(ScheduleStoreTest, ARunThatCannotBeCreatedClaimsNothing) {
  std::vector<TaskRow> twice = pair_tasks(1);
  twice.push_back(twice[0]);
  EXPECT_FALSE(store_->create_run(run_row("r1"), twice, ScheduleClaim{"weekly", 2e9, "", false}));
  EXPECT_EQ(named("weekly").decided_until, 1e9);
  EXPECT_THAT(*store_->list_dues("weekly", 9), IsEmpty());
}

TEST_F(ScheduleStoreTest, StartsAreCountedOnceEachAndNothingElseIs) {
  const auto claim = [&](const char* run, double due_at, std::uint64_t number, bool by_hand) {
    return static_cast<bool>(store_->create_run(
        run_row(run), pair_tasks(1), ScheduleClaim{"weekly", due_at, "", by_hand, number}));
  };
  EXPECT_EQ(named("weekly").started, 0u);
  ASSERT_TRUE(claim("r1", 2e9, 0, false));
  EXPECT_FALSE(claim("r2", 2e9, 1, false)) << "decided";
  EXPECT_EQ(named("weekly").started, 1u);
  ASSERT_TRUE(claim("r3", 3, 1, true));
  ASSERT_TRUE(claim("r4", 2e9 + 1, 1, false)) << "chosen before the one by hand was there";
  EXPECT_EQ(named("weekly").started, 2u) << "number 2 is nobody's yet";
  ASSERT_TRUE(store_->decide_due("weekly", {.due_at = 2e9 + 2, .result = DueResult::kMissed}));
  ASSERT_TRUE(store_->decide_due("weekly", {.due_at = 2e9 + 3, .result = DueResult::kSkipped}));
  EXPECT_EQ(named("weekly").started, 2u);
  ASSERT_TRUE(
      store_->decide_due("weekly", {.due_at = 2e9 + 4, .result = DueResult::kMissed, .spent = 2}));
  ASSERT_TRUE(
      store_->decide_due("weekly", {.due_at = 2e9 + 5, .result = DueResult::kMissed, .spent = 1}));
  reopen();
  EXPECT_EQ(named("weekly").started, 3u);
  EXPECT_EQ(named("nightly").started, 0u);
}

// The next run takes the place of a due time's run that the end of the controller interrupted,
// once.
TEST_F(ScheduleStoreTest, ARunTakesTheBrokenOffOnesPlaceOnceAndNothingIsCounted) {
  ASSERT_TRUE(store_->create_run(run_row("r1"), pair_tasks(1), ScheduleClaim{"weekly", 2e9}));
  ScheduleClaim rest{.schedule = "weekly", .due_at = 2e9, .reason = "the rest"};
  rest.resumes_run_id = "r1";
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(1), rest));
  EXPECT_EQ(store_->create_run(run_row("r3"), pair_tasks(1), rest).error().code,
            Code::kAlreadyExists);
  EXPECT_THAT(*store_->list_runs(9), SizeIs(2)) << "no run without its claim";
  reopen();
  const auto dues = store_->list_dues("weekly", 9);
  ASSERT_THAT(*dues, SizeIs(1));
  EXPECT_EQ(dues->at(0).run_id, "r2");
  EXPECT_EQ(dues->at(0).result, DueResult::kStarted);
  EXPECT_EQ(dues->at(0).reason, "the rest");
  EXPECT_EQ(named("weekly").started, 1u);
  EXPECT_EQ(named("weekly").decided_until, 2e9);
  rest.resumes_run_id = "r2";
  ASSERT_TRUE(store_->set_schedule_paused("weekly", true));
  EXPECT_EQ(store_->create_run(run_row("r4"), pair_tasks(1), rest).error().code,
            Code::kFailedPrecondition);
}

TEST_F(ScheduleStoreTest, WhatIsSaidOfAStartedDueTimeIsSaidOfThatRunAlone) {
  ASSERT_TRUE(store_->create_run(run_row("r1"), pair_tasks(1), ScheduleClaim{"weekly", 2e9}));
  const DueRow missed{.due_at = 2e9, .result = DueResult::kMissed, .run_id = "r1", .reason = "why"};
  DueRow other = missed;
  other.run_id = "r2";
  EXPECT_EQ(store_->say_of_started("weekly", other).error().code, Code::kNotFound);
  ASSERT_TRUE(store_->say_of_started("weekly", missed));
  EXPECT_EQ(store_->say_of_started("weekly", missed).error().code, Code::kNotFound) << "once";
  EXPECT_EQ(named("weekly").newest->result, DueResult::kMissed);
  EXPECT_EQ(named("weekly").newest->reason, "why");
}

TEST_F(ScheduleStoreTest, BrokenOffAreThoseThatLostTasksToTheirControllersEnd) {
  const auto started = [&](const char* run, double due_at, bool by_hand = false) {
    ASSERT_TRUE(store_->create_run(run_row(run), pair_tasks(1),
                                   ScheduleClaim{"weekly", due_at, "", by_hand}));
  };
  const auto ends = [&](const char* run, const char* outcome, const std::string& reason) {
    const std::string task = pair_tasks(1).at(0).task_id;
    ASSERT_TRUE(store_->update_task({.run_id = run,
                                     .task_id = task,
                                     .state = TaskState::kEnded,
                                     .outcome = outcome,
                                     .reason = reason}));
    ASSERT_TRUE(store_->update_run({.run_id = run,
                                    .state = RunState::kEnded,
                                    .outcome = outcome,
                                    .reason = reason,
                                    .ended_at = 3e9}));
  };
  started("passed", 2e9);
  ends("passed", "passed", "");
  started("stopped", 2e9 + 1);
  ends("stopped", "cancelled", std::string(kControllerStopping));
  started("cancelled", 2e9 + 2);
  ends("cancelled", "cancelled", "cancelled by ann");
  started("open", 2e9 + 3);
  ASSERT_TRUE(store_->update_run({.run_id = "open", .cancelled_by = "ann"}));
  started("by hand", 2e9 + 4, true);
  ASSERT_TRUE(store_->create_planned_run(run_row("before its first round"),
                                         {{.kernel = "verbs.write_lat", .tasks = 7}},
                                         ScheduleClaim{"weekly", 2e9 + 5}));
  ASSERT_TRUE(store_->flush());
  reopen();
  ASSERT_TRUE(store_->end_interrupted_runs());
  const auto broken_off = store_->broken_off(2e9 - 1);
  ASSERT_TRUE(broken_off) << broken_off.error().message;
  ASSERT_THAT(*broken_off, SizeIs(4));
  EXPECT_EQ(broken_off->at(0).due.run_id, "stopped");
  EXPECT_EQ(broken_off->at(0).schedule, "weekly");
  EXPECT_EQ(broken_off->at(1).due.run_id, "open");
  EXPECT_EQ(broken_off->at(1).cancelled_by, "ann");
  EXPECT_EQ(broken_off->at(2).due.run_id, "by hand");
  EXPECT_EQ(broken_off->at(2).due.result, DueResult::kByHand);
  EXPECT_EQ(broken_off->at(3).due.run_id, "before its first round");
  EXPECT_THAT(*store_->broken_off(2e9 + 2), SizeIs(3)) << "due later alone";
}

// Rows of due times go when they are many; the count stays.
TEST_F(ScheduleStoreTest, EachStartHasTheNumberAfterTheOneBefore) {
  std::minstd_rand chance(7);
  std::uint64_t starts = 0;
  double due = 2e9;
  for (int step = 0; step < 600; ++step) {
    const std::uint64_t number = named("weekly").started;
    ASSERT_EQ(number, starts) << "at step " << step;
    due += 60;
    switch (chance() % 8) {
      case 0:
        reopen();
        break;
      case 1:
      case 2:
        ASSERT_TRUE(store_->decide_due("weekly", {.due_at = due, .result = DueResult::kMissed}));
        break;
      case 3:
        EXPECT_FALSE(
            store_->create_run(run_row("r"), {}, ScheduleClaim{"weekly", 1e9, "", false, number}));
        break;
      default:
        ASSERT_TRUE(store_->create_run(run_row(fmt::format("r{}", step)), {},
                                       ScheduleClaim{"weekly", due, "", step % 2 == 0, number}));
        ++starts;
    }
  }
  EXPECT_GT(starts, 200u);
}

TEST_F(ScheduleStoreTest, PausedItStartsNothingAndResumedOnlyWhatIsDueLater) {
  ASSERT_TRUE(store_->set_schedule_paused("weekly", true));
  EXPECT_EQ(
      store_->create_run(run_row("r1"), {}, ScheduleClaim{"weekly", 2e9, "", false}).error().code,
      Code::kFailedPrecondition);
  ASSERT_TRUE(store_->create_run(run_row("r2"), {}, ScheduleClaim{"weekly", 3, "by ann", true}))
      << "a person may start it all the same";
  EXPECT_EQ(named("weekly").decided_until, 1e9);
  ASSERT_TRUE(store_->set_schedule_paused("weekly", false));
  EXPECT_GT(named("weekly").decided_until, 1.7e9) << "now";
  EXPECT_EQ(store_->set_schedule_paused("daily", true).error().code, Code::kNotFound);
}

TEST_F(ScheduleStoreTest, MissedOnesAreCountedAndOldRowsGo) {
  ASSERT_TRUE(store_->decide_due("weekly",
                                 {.due_at = 4e9, .result = DueResult::kMissed, .reason = "away"}));
  EXPECT_EQ(named("weekly").missed, 1U);
  EXPECT_EQ(named("weekly").newest->reason, "away");
  for (std::uint32_t i = 1; i <= kMaxDueRows; ++i)
    ASSERT_TRUE(store_->decide_due("weekly", {.due_at = 4e9 + i, .result = DueResult::kSkipped}));
  EXPECT_THAT(*store_->list_dues("weekly", 1000), SizeIs(kMaxDueRows));
  EXPECT_EQ(named("weekly").missed, 0U);
}

// As version 8 left them, which counted nothing (testdata/make.sh wrote it).
TEST(ScheduleMigration, StartsOfAnEarlierVersionAreCountedAndItsRowsStay) {
  const TempFolder folder;
  std::filesystem::copy_file("controller/store/testdata/version8.db", folder.file("db"));
  {
    auto earlier = Connection::open(folder.file("db"), Connection::Mode::kCreate, 1);
    ASSERT_TRUE(earlier) << earlier.error().message;
    ASSERT_TRUE(earlier->script(
        "DELETE FROM schedule_due; UPDATE schedule SET decided_until=50 WHERE name='nightly';"
        "INSERT INTO schedule_due SELECT id, 10, 10, 'started', 'r1', '' FROM schedule;"
        "INSERT INTO schedule_due SELECT id, column1, column1, column2, column3, column4 "
        "FROM schedule, (VALUES (20, 'missed', '', 'away'), (30, 'started', 'r2', 'made up for'), "
        "(35, 'by_hand', 'r3', 'by hand, ann'), (40, 'skipped', '', 'busy')) "
        "WHERE name='nightly'"));
  }
  auto now = open_and_migrate(folder.file("db"), 1, 0);
  ASSERT_TRUE(now) << now.error().message;
  const auto schedules = read_schedules(*now, 100);
  ASSERT_TRUE(schedules) << schedules.error().message;
  ASSERT_THAT(*schedules, SizeIs(2));
  const ScheduleRow& hourly = schedules->at(0);
  EXPECT_EQ(hourly.name, "hourly-quick");
  EXPECT_EQ(hourly.started, 1u);
  const ScheduleRow& nightly = schedules->at(1);
  EXPECT_EQ(nightly.started, 3u) << "two by their time and one by hand";
  EXPECT_EQ(nightly.decided_until, 50);
  EXPECT_EQ(nightly.missed, 1u);
  EXPECT_EQ(nightly.last->run_id, "r3");
  std::string rows;
  const auto dues = read_dues(*now, "nightly", 9);
  ASSERT_TRUE(dues) << dues.error().message;
  for (const DueRow& due : *dues)
    rows +=
        fmt::format("{:.0f} {} {} {}; ", due.due_at, text_of(due.result), due.run_id, due.reason);
  EXPECT_EQ(rows,
            "40 skipped  busy; 35 by_hand r3 by hand, ann; 30 started r2 made up for; "
            "20 missed  away; 10 started r1 ; ");
}

}  // namespace
}  // namespace railgauge::store
