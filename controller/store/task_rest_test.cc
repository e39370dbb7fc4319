// Tasks of a run that have no row: their rounds have not begun, or never will.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/queries/events.h"
#include "controller/store/queries/queries.h"
#include "controller/store/queries/schedules.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// A run of two stages, of 5 tasks and of 3 million, of which no round has begun.
class TaskRestTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    for (int node = 1; node <= 2; ++node) ASSERT_TRUE(store_->put_node(node_row(node)));
    const Status created = store_->create_planned_run(
        run_row("r1"), {{.stage = 0, .kernel = "verbs.write_lat", .tasks = 5},
                        {.stage = 1, .kernel = "verbs.write_bw", .tasks = 3'000'000}});
    ASSERT_TRUE(created) << created.error().message;
  }
  // Begins a round of the first stage with tasks `first` to `last`, from 1.
  void begin_round(std::size_t first, std::size_t last) {
    std::vector<TaskRow> all = pair_tasks(static_cast<int>(last));
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first - 1));
    const std::size_t count = all.size();
    ASSERT_TRUE(store_->begin_round(
        "r1", 0, {.count = count, .row = [all](std::size_t i) { return all[i]; }}));
    ASSERT_TRUE(store_->flush());
  }
  void end_rest(std::uint32_t stage, std::uint64_t tasks, const std::string& reason = "stopped") {
    ASSERT_TRUE(store_->end_rest("r1", {.stage = stage,
                                        .kernel = "verbs.write_bw",
                                        .outcome = "cancelled",
                                        .reason = reason,
                                        .tasks = tasks}));
    ASSERT_TRUE(store_->flush());
  }
};

TEST_F(TaskRestTest, AllPlannedTasksCountBeforeTheyHaveRows) {
  const RunSummaryRow before = *store_->run_summary("r1");
  EXPECT_EQ(before.tasks_total, 3'000'005u);
  EXPECT_EQ(before.tasks_ended, 0u);
  EXPECT_THAT(before.outcomes, IsEmpty());
  EXPECT_THAT(store_->run_detail("r1")->tasks, IsEmpty());
  begin_round(1, 2);
  ASSERT_TRUE(store_->update_task({.run_id = "r1",
                                   .task_id = "t0001",
                                   .state = TaskState::kEnded,
                                   .outcome = "passed",
                                   .attempts = 1}));
  ASSERT_TRUE(store_->flush());
  const RunSummaryRow begun = *store_->run_summary("r1");
  EXPECT_EQ(begun.tasks_total, 3'000'005u) << "a task is in one place";
  EXPECT_EQ(begun.tasks_ended, 1u);
  EXPECT_THAT(store_->run_detail("r1")->tasks, SizeIs(2));
  begin_round(3, 5);
  const auto rest = store_->task_rest("r1");
  ASSERT_THAT(*rest, SizeIs(1)) << "nothing is left of the first stage";
  EXPECT_EQ(rest->front().stage, 1u);
  EXPECT_EQ(rest->front().tasks, 3'000'000u);
}

TEST_F(TaskRestTest, RoundsThatNeverBeginEndWithTheirReasonAndStayPartOfTheRun) {
  begin_round(1, 2);
  end_rest(1, 1'000'000);
  end_rest(1, 500'000);
  end_rest(1, 1'500'000, "the stage's time was over");
  const RunSummaryRow run = *store_->run_summary("r1");
  EXPECT_EQ(run.tasks_total, 3'000'005u);
  EXPECT_EQ(run.tasks_ended, 3'000'000u);
  EXPECT_THAT(run.outcomes, ElementsAre(Pair("cancelled", 3'000'000u)));
  std::vector<std::string> told;
  const auto ends = store_->read(read_task_ends, std::string("r1"));
  for (const TaskEnd& end : *ends)
    told.push_back(
        fmt::format("{} {} {} {} {}", end.stage, end.outcome, end.reason, end.tasks, end.task_id));
  EXPECT_THAT(told, ElementsAre("0  the round has not begun 3 ",
                                "1 cancelled stopped; the round did not begin 1500000 ",
                                "1 cancelled the stage's time was over; the round did not begin "
                                "1500000 ",
                                "0   1 t0001", "0   1 t0002"));
}

TEST_F(TaskRestTest, ARestartEndsTheRestWithTheRun) {
  begin_round(1, 2);
  reopen();
  EXPECT_THAT(*store_->end_interrupted_runs(), ElementsAre("r1"));
  const RunSummaryRow run = *store_->run_summary("r1");
  EXPECT_EQ(run.tasks_total, 3'000'005u);
  EXPECT_EQ(run.tasks_ended, 3'000'005u);
  EXPECT_EQ(run.outcomes.at("cancelled"), 3'000'005u) << "none had begun";
  const auto rest = store_->task_rest("r1");
  for (const TaskRestRow& stage : *rest) EXPECT_EQ(stage.reason, kControllerRestarted);
}

TEST_F(TaskRestTest, ARoundWhoseTaskIsThereAlreadyIsNotStoredInPart) {
  begin_round(2, 2);
  const auto all = pair_tasks(2);
  ASSERT_TRUE(
      store_->begin_round("r1", 0, {.count = 2, .row = [all](std::size_t i) { return all[i]; }}));
  ASSERT_TRUE(store_->flush());
  EXPECT_THAT(store_->run_detail("r1")->tasks, SizeIs(1));
  EXPECT_EQ(store_->run_summary("r1")->tasks_total, 3'000'005u);
}

TEST_F(TaskRestTest, RoundsOfRunsSideBySideAreReadApartAndInTheirOrder) {
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(2)));
  begin_round(1, 2);
  ASSERT_TRUE(store_->create_run(run_row("r3"), pair_tasks(3)));
  begin_round(3, 5);
  std::vector<std::string> ids;
  const auto detail = store_->run_detail("r1");
  for (const TaskDetailRow& task : detail->tasks) ids.push_back(task.task.task_id);
  EXPECT_THAT(ids, ElementsAre("t0001", "t0002", "t0003", "t0004", "t0005"));
  ids.clear();
  std::int64_t from = 0;
  do {
    const TaskHeadsRow page = *store_->read(read_task_heads, "r1", from, 2U);
    for (const TaskRow& task : page.tasks) {
      ids.push_back(task.task_id);
      ASSERT_THAT(task.ranks, SizeIs(2));
      EXPECT_EQ(task.ranks[1].node, "n2");
      EXPECT_EQ(task.parameters.at("depth"), "1");
    }
    from = page.next;
  } while (from != 0);
  EXPECT_THAT(ids, ElementsAre("t0001", "t0002", "t0003", "t0004", "t0005"));
}

TEST_F(TaskRestTest, RetentionTakesTheNumbersWithTheTasks) {
  begin_round(1, 2);
  end_rest(1, 3'000'000);
  ASSERT_TRUE(store_->update_run(
      {.run_id = "r1", .state = RunState::kEnded, .outcome = "cancelled", .ended_at = 1.0}));
  ASSERT_TRUE(store_->flush());
  constexpr double kSixYears = 6 * 366 * 86'400.0;
  const double created_at = store_->run_summary("r1")->run.created_at;
  const auto pruned = store_->prune({}, created_at + kSixYears);
  ASSERT_TRUE(pruned) << pruned.error().message;
  EXPECT_THAT(*store_->task_rest("r1"), IsEmpty());
}

TEST_F(TaskRestTest, ALargePlanAsksForTheRoomOfItsFirstTasksAlone) {
  const Status created = store_->create_planned_run(
      run_row("r2"), {{.kernel = "verbs.write_bw", .tasks = 1'000'000'000'000}});
  EXPECT_TRUE(created) << created.error().message;
}

}  // namespace
}  // namespace railgauge::store
