#include "controller/run/yield_window.h"

#include <gmock/gmock.h>

#include "controller/run/task_machine.h"

namespace railgauge::run {
namespace {
using testing::HasSubstr;

template <class Action>
const Action* last(const TaskActions& actions) {
  const Action* found = nullptr;
  for (const TaskAction& action : actions)
    if (const auto* one = std::get_if<Action>(&action)) found = one;
  return found;
}

template <class Action>
std::size_t count(const TaskActions& actions) {
  std::size_t n = 0;
  for (const TaskAction& action : actions) n += std::holds_alternative<Action>(action) ? 1 : 0;
  return n;
}

class YieldWindowTest : public testing::Test {
 protected:
  static TaskSpec spec(bool forced) {
    TaskSpec spec;
    spec.task_id = "t1";
    spec.ranks = {{"n1", "rxe0:1"}, {"n2", "rxe0:1"}};
    spec.forced = forced;
    return spec;
  }
  TaskActions start(TaskMachine& task) {
    TaskActions out;
    task.start({{"n1", {Presence::State::kAttached, 0}}, {"n2", {Presence::State::kAttached, 0}}},
               0, out);
    return out;
  }
  TaskActions run(TaskMachine& task) {
    TaskActions out = start(task);
    task.prepared(task.attempt(), 0, 1, out);
    task.prepared(task.attempt(), 1, 1, out);
    return out;
  }
  // Both ranks end as their agents say, with their final records.
  static void end(TaskMachine& task, const std::string& outcome, double now, TaskActions& out) {
    const std::uint32_t attempt = task.attempt();
    for (const std::uint32_t rank : {0U, 1U}) {
      task.ended(attempt, rank, outcome, "node n1 is busy: marker: x", now, out);
      task.stored(attempt, rank, outcome == "passed" ? 1 : 0, RankEnd{outcome, ""}, now, out);
    }
  }
};

TEST_F(YieldWindowTest, NothingBeginsOnABusyNodeUntilItIsIdle) {
  TaskMachine task(spec(false));
  TaskActions out;
  task.node_busy("n1", "slurm: job 7 here", 0, out);
  EXPECT_EQ(count<SendPrepare>(start(task)), 0U);
  EXPECT_EQ(task.state(), TaskState::kWaiting);
  task.node_idle("n1", 100, out);
  EXPECT_EQ(count<SendPrepare>(out), 2U);
}

TEST_F(YieldWindowTest, ATaskThatRunsIsCancelledOnAllItsNodesAndComesAgain) {
  TaskMachine task(spec(false));
  run(task);
  TaskActions out;
  task.node_busy("n1", "marker: x", 10, out);
  EXPECT_EQ(count<SendCancel>(out), 2U);
  EXPECT_EQ(last<SendCancel>(out)->outcome, "cancelled");
  EXPECT_THAT(last<SendCancel>(out)->reason, HasSubstr("node n1 is busy: marker: x"));
  end(task, "cancelled", 11, out);
  ASSERT_EQ(count<AttemptEnded>(out), 1U);
  EXPECT_TRUE(last<AttemptEnded>(out)->requeued);
  EXPECT_EQ(last<AttemptEnded>(out)->outcome, "cancelled");
  EXPECT_THAT(last<AttemptEnded>(out)->reason, HasSubstr("marker: x"));
  EXPECT_EQ(task.state(), TaskState::kWaiting);
  out.clear();
  task.node_idle("n1", 60, out);
  EXPECT_EQ(count<SendPrepare>(out), 2U);
  EXPECT_EQ(task.attempt(), 2U);
}

TEST_F(YieldWindowTest, APeerThatFailsBecauseItsPartnerWasTakenAwayIsNoCrash) {
  TaskMachine task(spec(false));
  run(task);
  TaskActions out;
  task.node_busy("n1", "marker: x", 10, out);
  task.ended(1, 1, "crashed", "connection reset", 11, out);
  task.stored(1, 1, 0, RankEnd{"crashed", ""}, 11, out);
  task.ended(1, 0, "cancelled", "", 11, out);
  task.stored(1, 0, 0, RankEnd{"cancelled", ""}, 11, out);
  ASSERT_EQ(count<AttemptEnded>(out), 1U);
  EXPECT_EQ(last<AttemptEnded>(out)->outcome, "cancelled");
}

TEST_F(YieldWindowTest, WrongDataIsReportedEvenIfTheTaskYields) {
  TaskMachine task(spec(false));
  run(task);
  TaskActions out;
  task.node_busy("n1", "marker: x", 10, out);
  end(task, "failed", 11, out);
  ASSERT_EQ(count<TaskFinished>(out), 1U);
  EXPECT_EQ(last<TaskFinished>(out)->outcome, "failed");
}

TEST_F(YieldWindowTest, AForcedTaskYieldsToNothing) {
  TaskMachine task(spec(true));
  TaskActions out;
  task.node_busy("n1", "marker: x", 0, out);
  EXPECT_EQ(count<SendPrepare>(start(task)), 2U);
  task.node_busy("n2", "marker: y", 5, out);
  EXPECT_EQ(count<SendCancel>(out), 0U);
}

TEST_F(YieldWindowTest, TheWindowEndsAtItsTimeAndTheTaskAsCancelled) {
  TaskMachine task(spec(false));
  TaskActions out;
  task.node_busy("n1", "slurm: job 7 here", 0, out);
  start(task);
  double now = 0;
  while (task.state() != TaskState::kEnded && now < 1e6) {
    ASSERT_TRUE(task.next_tick());
    now = std::max(now + 0.1, *task.next_tick());
    task.tick(now, out);
  }
  EXPECT_NEAR(now, YieldWindow::kWindowSeconds, 1);
  EXPECT_EQ(last<TaskFinished>(out)->outcome, "cancelled");
  EXPECT_THAT(last<TaskFinished>(out)->reason,
              HasSubstr("slurm: job 7 here; it was waited 30 min"));
}

TEST_F(YieldWindowTest, ATaskThatYieldsAgainAndAgainEnds) {
  TaskMachine task(spec(false));
  run(task);
  double now = 2;
  TaskActions out;
  for (int round = 0; round < 1000 && task.state() != TaskState::kEnded; ++round, now += 120) {
    task.node_busy("n1", "marker: x", now, out);
    end(task, "cancelled", now + 1, out);
    task.node_idle("n1", now + 10, out);
  }
  EXPECT_EQ(task.state(), TaskState::kEnded);
  EXPECT_LT(now, YieldWindow::kWindowSeconds + 300);
  EXPECT_EQ(last<TaskFinished>(out)->outcome, "cancelled");
}

TEST_F(YieldWindowTest, AYieldCostsNoAttempt) {
  TaskMachine task(spec(false));
  run(task);
  TaskActions out;
  for (const double now : {10.0, 20.0, 30.0}) {
    task.node_busy("n1", "marker: x", now, out);
    end(task, "cancelled", now + 1, out);
    task.node_idle("n1", now + 5, out);
  }
  EXPECT_EQ(task.attempt(), 4U);
  out.clear();
  task.node_lost("n2", 40, out);
  task.ended(4, 0, "crashed", "", 41, out);
  task.stored(4, 0, 0, RankEnd{"crashed", ""}, 41, out);
  ASSERT_EQ(count<AttemptEnded>(out), 1U);
  EXPECT_TRUE(last<AttemptEnded>(out)->requeued) << "a lost node is worth its own second attempt";
}

TEST_F(YieldWindowTest, ACancelWhileItWaitsEndsIt) {
  TaskMachine task(spec(false));
  TaskActions out;
  task.node_busy("n1", "marker: x", 0, out);
  start(task);
  task.cancel("by ann", 5, out);
  EXPECT_EQ(task.state(), TaskState::kEnded);
  EXPECT_EQ(last<TaskFinished>(out)->reason, "by ann");
}

TEST_F(YieldWindowTest, ANodeOfOthersDoesNotMatter) {
  TaskMachine task(spec(false));
  TaskActions out;
  task.node_busy("n9", "marker: x", 0, out);
  EXPECT_EQ(count<SendPrepare>(start(task)), 2U);
}

TEST(BusyRefusal, NamesTheNodesAndTheWaysOut) {
  EXPECT_EQ(
      busy_refusal({{"n1", "slurm: job 7 here"}, {"n2", "gpu: x"}}),
      "node n1 is busy: slurm: job 7 here; node n2 is busy: gpu: x; wait, leave out !n1,!n2, or "
      "measure beside it with --force --reason TEXT");
}

}  // namespace
}  // namespace railgauge::run
