// Schedules in the store: their state, and that a due time is decided once.
#include "controller/store/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/store_testing.h"

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
  EXPECT_EQ(store_->decide_due("weekly", {.due_at = 2e9, .result = "missed"}).error().code,
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
  ASSERT_TRUE(store_->decide_due("weekly", {.due_at = 4e9, .result = "missed", .reason = "away"}));
  EXPECT_EQ(named("weekly").missed, 1U);
  EXPECT_EQ(named("weekly").newest->reason, "away");
  for (std::uint32_t i = 1; i <= kMaxDueRows; ++i)
    ASSERT_TRUE(store_->decide_due("weekly", {.due_at = 4e9 + i, .result = "skipped"}));
  EXPECT_THAT(*store_->list_dues("weekly", 1000), SizeIs(kMaxDueRows));
  EXPECT_EQ(named("weekly").missed, 0U);
}

}  // namespace
}  // namespace railgauge::store
