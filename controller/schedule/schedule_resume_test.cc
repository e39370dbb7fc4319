// Runs of a schedule that the end of the controller interrupted: when they are resumed.
#include <chrono>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/control/run_tasks.h"
#include "controller/schedule/schedule_service.h"
#include "controller/testing/schedules_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using testing_agent::kPairs;
using testing_agent::Script;

class InterruptedRun : public testing_agent::SchedulesTest {
 protected:
  void SetUp() override {
    bench_.start();
    attach(Script::kHang);
  }
  void attach(Script script) {
    for (const char* name : {"n1", "n2"}) add_agent(name, script);
  }
  // As if it were killed; the new one has no agents yet.
  void kill_controller() {
    bench_.stop();  // first: no node is lost to a controller that is there
    agents_.clear();
    bench_.start();
  }
  void restart_with(Script script) {
    kill_controller();
    attach(script);
  }
  void stop_in_peace() {
    bench_.server_->begin_stop();
    for (int i = 0; i < 3000 && !bench_.server_->idle(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(bench_.server_->idle());
  }
  // With a run that begins now and ends by itself never; its id.
  std::string begin(const api::ScheduleSpec& spec, double due) {
    EXPECT_TRUE(add(spec).ok());
    bench_.server_->start_due(due);
    EXPECT_THAT(runs(), SizeIs(1));
    EXPECT_EQ(runs()[0].state(), "running");
    return runs()[0].run_id();
  }
  api::ScheduleDue only_due(const std::string& schedule_name) {
    const api::ScheduleInfo info = schedule(schedule_name);
    EXPECT_THAT(info.dues(), SizeIs(1));
    return info.dues_size() == 0 ? api::ScheduleDue() : info.dues(0);
  }
  void expect_missed(const std::string& schedule_name, const std::string& run_id,
                     const std::string& why) {
    EXPECT_THAT(runs(), SizeIs(1));
    const api::ScheduleDue due = only_due(schedule_name);
    EXPECT_EQ(due.result(), "missed");
    EXPECT_EQ(due.run_id(), run_id);
    EXPECT_THAT(due.reason(), HasSubstr("is not resumed: " + why));
    EXPECT_THAT(due.reason(), HasSubstr("railgauge runs resume " + run_id));
    EXPECT_EQ(schedule(schedule_name).missed(), 1u);
    EXPECT_THAT(stored_event("schedule_missed"), HasSubstr(why));
  }
  grpc::Status resume_by_hand(const std::string& run_id) {
    api::RunRequest request;
    request.set_resume_run_id(run_id);
    api::RunSummary run;
    return call(&api::Control::Stub::StartRun, request, run);
  }
};

TEST_F(InterruptedRun, IsResumedOnceForTheSameDueTime) {
  const double due = next_minute();
  const std::string first = begin(minutely(), due);
  restart_with(Script::kPass);
  for (int i = 0; i < 3; ++i) bench_.server_->start_due(due + 30 + i);
  ASSERT_THAT(runs(), SizeIs(2));
  const api::RunSummary rest = runs()[0];
  EXPECT_EQ(rest.trigger(), "schedule");
  EXPECT_EQ(rest.requested_by(), "schedule minutely");
  const std::string why = "the rest of run " + first +
                          ", which a restart of the controller interrupted (1 of at most 3)";
  const api::RunDetail ended = bench_.end_of(rest.run_id());
  EXPECT_EQ(ended.run().outcome(), "passed");
  EXPECT_EQ(ended.run().reason(), why);
  EXPECT_EQ(ended.tasks_size(), 1);
  const api::ScheduleDue started = only_due("minutely");
  EXPECT_EQ(started.result(), "started");
  EXPECT_EQ(started.run_id(), rest.run_id());
  EXPECT_EQ(started.reason(), why);
  EXPECT_EQ(schedule("minutely").missed(), 0u);
  EXPECT_THAT(stored_event("schedule_resumed"), HasSubstr(rest.run_id() + " is " + why));
}

TEST_F(InterruptedRun, IsResumedAfterACleanStopToo) {
  const double due = next_minute();
  const std::string first = begin(minutely(), due);
  stop_in_peace();
  EXPECT_EQ(runs()[0].outcome(), "cancelled");
  restart_with(Script::kPass);
  bench_.server_->start_due(due + 30);
  ASSERT_THAT(runs(), SizeIs(2));
  EXPECT_THAT(bench_.end_of(runs()[0].run_id()).run().reason(),
              StartsWith("the rest of run " + first));
}

TEST_F(InterruptedRun, IsResumedAgainAfterASecondInterruptionAndGivenUpAfterThree) {
  const double due = due_of_yearly();
  begin(yearly(), due);
  for (std::size_t rest = 1; rest <= ScheduleService::kMaxResumedRuns; ++rest) {
    restart_with(Script::kHang);
    bench_.server_->start_due(due + 30);
    ASSERT_THAT(runs(), SizeIs(rest + 1));
    EXPECT_EQ(runs()[0].reason().substr(0, runs()[0].reason().find(',')),
              "the rest of run " + runs()[1].run_id());
    EXPECT_EQ(only_due("yearly").run_id(), runs()[0].run_id());
  }
  restart_with(Script::kPass);
  bench_.server_->start_due(due + 30);
  EXPECT_THAT(runs(), SizeIs(ScheduleService::kMaxResumedRuns + 1));
  EXPECT_EQ(only_due("yearly").result(), "missed");
  EXPECT_THAT(only_due("yearly").reason(), HasSubstr("it was resumed 3 times already"));
  EXPECT_TRUE(resume_by_hand(runs()[0].run_id()).ok()) << "a person may";
}

// A person asked for it: neither a pause nor a window is in its way.
TEST_F(InterruptedRun, ThatAPersonBeganIsResumedToo) {
  api::ScheduleSpec spec = yearly();
  spec.set_windows("11:00-11:01");
  spec.set_paused(true);
  ASSERT_TRUE(add(spec).ok());
  api::ScheduleRef ref;
  ref.set_name("yearly");
  api::RunSummary run;
  ASSERT_TRUE(call(&api::Control::Stub::RunSchedule, ref, run).ok());
  restart_with(Script::kPass);
  for (int i = 0; i < 3; ++i) bench_.server_->start_due(fleet::unix_seconds() + 30 + i);
  ASSERT_THAT(runs(), SizeIs(2));
  const api::RunDetail ended = bench_.end_of(runs()[0].run_id());
  EXPECT_EQ(ended.run().outcome(), "passed");
  EXPECT_THAT(ended.run().reason(), HasSubstr("the rest of run " + run.run_id()));
  EXPECT_EQ(only_due("yearly").result(), "by_hand");
  EXPECT_EQ(only_due("yearly").run_id(), runs()[0].run_id());
  EXPECT_THAT(only_due("yearly").reason(), StartsWith("by hand, "));
}

TEST_F(InterruptedRun, OfAPausedScheduleIsMissed) {
  const double due = due_of_yearly();
  const std::string first = begin(yearly(), due);
  api::ScheduleRef ref;
  ref.set_name("yearly");
  api::ScheduleInfo info;
  ASSERT_TRUE(call(&api::Control::Stub::PauseSchedule, ref, info).ok());
  restart_with(Script::kPass);
  bench_.server_->start_due(due + 30);
  expect_missed("yearly", first, "the schedule is paused");
}

TEST_F(InterruptedRun, OfASuiteThatHasChangedIsMissed) {
  const double due = due_of_yearly();
  const std::string first = begin(yearly(), due);
  bench_.write("pairs.yaml", std::string(kPairs) + "seed: 7\n");
  restart_with(Script::kPass);
  bench_.server_->start_due(due + 30);
  expect_missed("yearly", first, "suite pairs has changed meanwhile");
}

TEST_F(InterruptedRun, IsMissedOutsideTheWindow) {
  api::ScheduleSpec spec = yearly();  // at noon
  spec.set_windows("11:00-13:00");
  const double due = due_of_yearly();
  const std::string first = begin(spec, due);
  restart_with(Script::kPass);
  bench_.server_->start_due(due + 3'600);
  expect_missed("yearly", first, "it is outside the schedule's windows");
}

TEST_F(InterruptedRun, YieldsToTheNextDueTime) {
  const double due = next_minute();
  const std::string first = begin(minutely(), due);
  restart_with(Script::kPass);
  bench_.server_->start_due(due + 60);
  ASSERT_THAT(runs(), SizeIs(2));
  EXPECT_EQ(bench_.end_of(runs()[0].run_id()).run().reason(), "");
  const api::ScheduleInfo info = schedule("minutely");
  ASSERT_THAT(info.dues(), SizeIs(2));
  EXPECT_EQ(info.dues(0).result(), "started");
  EXPECT_EQ(info.dues(1).result(), "missed");
  EXPECT_EQ(info.dues(1).run_id(), first);
  EXPECT_THAT(info.dues(1).reason(), HasSubstr("the next due time has come"));
}

// Two of three could begin, and waive what wants the third.
TEST_F(InterruptedRun, WaitsUntilAllItsNodesAreBack) {
  add_agent("n3", Script::kHang);
  const double due = due_of_yearly();
  begin(yearly(), due);
  kill_controller();
  attach(Script::kPass);
  bench_.server_->start_due(due + 30);
  EXPECT_THAT(runs(), SizeIs(1));
  EXPECT_EQ(only_due("yearly").result(), "started") << "it is not given up yet";
  add_agent("n3");
  bench_.server_->start_due(due + 60);
  ASSERT_THAT(runs(), SizeIs(2));
  const api::RunDetail ended = bench_.end_of(runs()[0].run_id());
  EXPECT_EQ(ended.run().outcome(), "passed");
  for (const api::TaskDetail& task : ended.tasks()) EXPECT_EQ(task.outcome(), "passed");
}

TEST_F(InterruptedRun, ContinuesWithoutANodeThatDoesNotComeBack) {
  add_agent("n3", Script::kHang);
  const double due = due_of_yearly();
  begin(yearly(), due);
  kill_controller();
  attach(Script::kPass);
  bench_.server_->start_due(due + 30);
  bench_.server_->start_due(due + 30 + run::kInTimeSeconds);
  ASSERT_THAT(runs(), SizeIs(2));
  std::size_t waived = 0;
  const api::RunDetail ended = bench_.end_of(runs()[0].run_id());
  for (const api::TaskDetail& task : ended.tasks()) waived += task.outcome() == "waived" ? 1 : 0;
  EXPECT_EQ(waived, 2u);
}

TEST_F(InterruptedRun, WhoseNodesDoNotComeBackIsMissed) {
  const double due = due_of_yearly();
  const std::string first = begin(yearly(), due);
  kill_controller();
  add_agent("n1");
  bench_.server_->start_due(due + 30);
  bench_.server_->start_due(due + 31 + run::kInTimeSeconds);
  expect_missed("yearly", first, "run " + first + ": each of the 1 tasks that are left of it");
}

TEST_F(InterruptedRun, ThatAPersonResumedIsNotResumedAgain) {
  const double due = due_of_yearly();
  const std::string first = begin(yearly(), due);
  restart_with(Script::kPass);
  ASSERT_TRUE(resume_by_hand(first).ok());
  bench_.server_->start_due(due + 30);
  EXPECT_THAT(runs(), SizeIs(2));
}

// They do not say that they have ended, so it is still being cancelled when the controller goes.
TEST_F(InterruptedRun, ThatAPersonCancelledIsNotResumed) {
  agents_.clear();
  for (const char* name : {"n1", "n2"}) ASSERT_TRUE(is_lost(name));
  attach(Script::kKeepSilent);
  const double due = due_of_yearly();
  const std::string first = begin(yearly(), due);
  api::RunRef ref;
  ref.set_run_id(first);
  api::RunSummary run;
  ASSERT_TRUE(call(&api::Control::Stub::CancelRun, ref, run).ok());
  ASSERT_EQ(run.state(), "cancelling");
  restart_with(Script::kPass);
  EXPECT_THAT(runs()[0].reason(), StartsWith("cancelled by "));
  EXPECT_THAT(runs()[0].reason(), HasSubstr("; controller restarted"));
  bench_.server_->start_due(due + 30);
  EXPECT_THAT(runs(), SizeIs(1));
  EXPECT_EQ(only_due("yearly").result(), "started");
}

}  // namespace
}  // namespace railgauge
