// Schedules of a whole controller: what starts, what is claimed, what a restart does to it.
#include "controller/schedule/schedule_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/schedules_bench.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing_agent::kPairs;
using testing_agent::SchedulesTest;
using testing_agent::ScriptedAgent;
using testing_agent::welcome;

TEST_F(SchedulesTest, WhatIsDueStartsOnceAndSaysWho) {
  ASSERT_TRUE(add(minutely()).ok());
  const double due = next_minute();
  bench_.server_->start_due(due - 1);
  EXPECT_THAT(runs(), SizeIs(0));
  for (int i = 0; i < 3; ++i) bench_.server_->start_due(due + i);
  ASSERT_THAT(runs(), SizeIs(1));
  EXPECT_EQ(runs()[0].trigger(), "schedule");
  EXPECT_EQ(runs()[0].requested_by(), "schedule minutely");
  const api::ScheduleInfo info = schedule("minutely");
  ASSERT_THAT(info.dues(), SizeIs(1));
  EXPECT_EQ(info.dues(0).result(), "started");
  EXPECT_EQ(info.last().run_id(), runs()[0].run_id());
}

TEST_F(SchedulesTest, ARestartInThatVerySecondStartsItOnce) {
  ASSERT_TRUE(add(minutely()).ok());
  const double due = next_minute();
  bench_.server_->start_due(due);
  restart();
  bench_.server_->start_due(due);
  bench_.server_->start_due(due + 1);
  EXPECT_THAT(schedule("minutely").dues(), SizeIs(1));
  std::size_t starts = 0;  // without the resumed runs
  for (const api::RunSummary& run : runs()) starts += run.reason().starts_with("the rest") ? 0 : 1;
  EXPECT_EQ(starts, 1u);
}

TEST_F(SchedulesTest, ARestartBeforeTheStartStartsItAfterwards) {
  ASSERT_TRUE(add(minutely()).ok());
  const double due = next_minute();
  restart();
  bench_.server_->start_due(due + 30);
  EXPECT_THAT(runs(), SizeIs(1));
}

TEST_F(SchedulesTest, MissedOnesAreReportedNotStarted) {
  ASSERT_TRUE(add(minutely()).ok());
  bench_.server_->start_due(next_minute() + 3 * 3'600 + 301);
  const api::ScheduleInfo info = schedule("minutely");
  EXPECT_EQ(info.missed(), 1U);
  ASSERT_GE(info.dues_size(), 2);
  EXPECT_EQ(info.dues(info.dues_size() - 1).result(), "missed");
  EXPECT_THAT(info.dues(info.dues_size() - 1).reason(), HasSubstr("due times passed"));
  EXPECT_EQ(info.dues(0).result(), "started") << "what is in time still is";
  EXPECT_THAT(runs(), SizeIs(1));
}

TEST_F(SchedulesTest, PausedItStartsNothingAndShippedOnesArePaused) {
  api::ScheduleSpec spec = minutely();
  spec.set_paused(true);
  ASSERT_TRUE(add(spec).ok());
  bench_.server_->start_due(next_minute() + 1);
  EXPECT_THAT(runs(), SizeIs(0));
  EXPECT_EQ(schedule("nightly").state(), "paused");
  api::ScheduleRef ref;
  ref.set_name("minutely");
  api::ScheduleInfo info;
  ASSERT_TRUE(call(&api::Control::Stub::ResumeSchedule, ref, info).ok());
  EXPECT_EQ(info.state(), "active");
  EXPECT_TRUE(info.has_next_at());
  bench_.server_->start_due(next_minute() + 1);
  EXPECT_THAT(runs(), SizeIs(1));
}

TEST_F(SchedulesTest, OneThatCannotStartIsTriedAgainAndMissedInTheEnd) {
  ASSERT_TRUE(add(minutely()).ok());
  agents_.clear();
  for (const char* name : {"n1", "n2"}) ASSERT_TRUE(is_lost(name));
  const double due = next_minute();
  for (int i = 0; i < 3; ++i) bench_.server_->start_due(due);
  EXPECT_THAT(runs(), SizeIs(0));
  EXPECT_THAT(schedule("minutely").dues(), SizeIs(0));
  bench_.server_->start_due(due + run::kInTimeSeconds - 1);
  const api::ScheduleInfo info = schedule("minutely");
  ASSERT_GE(info.dues_size(), 1);
  EXPECT_THAT(info.dues(info.dues_size() - 1).reason(), HasSubstr("no node is attached"));
}

// After a power cut: the nodes come minutes after the controller.
TEST_F(SchedulesTest, AMadeUpStartIsTriedAgainUntilTheNodesAreThere) {
  api::ScheduleSpec spec = yearly();
  spec.set_catch_up_seconds(2 * 3600);
  ASSERT_TRUE(add(spec).ok());
  agents_.clear();
  for (const char* name : {"n1", "n2"}) ASSERT_TRUE(is_lost(name));
  const double late = due_of_yearly() + 3600;
  bench_.server_->start_due(late);
  bench_.server_->start_due(late + 60);
  EXPECT_THAT(schedule("yearly").dues(), SizeIs(0)) << "it is not given up yet";
  for (const char* name : {"n1", "n2"}) add_agent(name);
  bench_.server_->start_due(late + 120);
  EXPECT_THAT(runs(), SizeIs(1));
  ASSERT_THAT(schedule("yearly").dues(), SizeIs(1));
  EXPECT_EQ(schedule("yearly").dues(0).result(), "started");
  EXPECT_THAT(schedule("yearly").dues(0).reason(), HasSubstr("made up for"));
}

TEST_F(SchedulesTest, AMadeUpStartIsMissedWhenItsGraceOrItsCatchUpIsOver) {
  api::ScheduleSpec spec = yearly();
  spec.set_catch_up_seconds(2 * 3600);
  ASSERT_TRUE(add(spec).ok());
  spec.set_name("short");
  spec.set_catch_up_seconds(3600 + 60);
  ASSERT_TRUE(add(spec).ok());
  agents_.clear();
  for (const char* name : {"n1", "n2"}) ASSERT_TRUE(is_lost(name));
  const double late = due_of_yearly() + 3600;
  bench_.server_->start_due(late);
  bench_.server_->start_due(late + 55);
  EXPECT_THAT(schedule("yearly").dues(), SizeIs(0));
  ASSERT_THAT(schedule("short").dues(), SizeIs(1));
  EXPECT_THAT(schedule("short").dues(0).reason(), HasSubstr("no node is attached"));
  bench_.server_->start_due(late + run::kInTimeSeconds - 1);
  ASSERT_THAT(schedule("yearly").dues(), SizeIs(1));
  EXPECT_EQ(schedule("yearly").dues(0).result(), "missed");
  EXPECT_THAT(schedule("yearly").dues(0).reason(), HasSubstr("no node is attached"));
}

TEST_F(SchedulesTest, AbsentNodesOfTheSetAreLeftOut) {
  add_agent("n3");
  api::ScheduleSpec spec = minutely();
  spec.set_node_set("n1,n2,n3");
  ASSERT_TRUE(add(spec).ok());
  agents_.pop_back();
  ASSERT_TRUE(is_lost("n3"));
  bench_.server_->start_due(next_minute());
  ASSERT_THAT(runs(), SizeIs(1));
  EXPECT_EQ(runs()[0].nodes_size(), 2);
}

TEST_F(SchedulesTest, ABusyNodeOfTheSetIsLeftOutAndTheOthersAreMeasured) {
  add_agent("n3");
  api::ScheduleSpec spec = minutely();
  spec.set_node_set("n1,n2,n3");
  ASSERT_TRUE(add(spec).ok());
  tell_busy(2, "n3", "job 4711 here");
  bench_.server_->start_due(next_minute());
  ASSERT_THAT(runs(), SizeIs(1)) << schedule("minutely").DebugString();
  EXPECT_THAT(runs()[0].nodes(), ElementsAre("n1", "n2"));
  bench_.end_of(runs()[0].run_id());
  EXPECT_EQ(stored_event("nodes_busy"), "busy, left out: n3 (slurm: job 4711 here)");
}

TEST_F(SchedulesTest, ASetOfBusyNodesAloneStartsNothingAndSaysSo) {
  api::ScheduleSpec spec = minutely();
  spec.set_node_set("n1,n2");
  ASSERT_TRUE(add(spec).ok());
  tell_busy(0, "n1", "job 4711 here");
  tell_busy(1, "n2", "job 4711 here");
  bench_.server_->start_due(next_minute() + run::kInTimeSeconds - 1);
  EXPECT_THAT(runs(), SizeIs(0));
  const api::ScheduleInfo info = schedule("minutely");
  ASSERT_GE(info.dues_size(), 1);
  EXPECT_THAT(info.dues(info.dues_size() - 1).reason(),
              HasSubstr("every attached node is busy: node n1 is busy: slurm: job 4711 here"));
}

TEST_F(SchedulesTest, ReplaceEndsTheRunBeforeOnceTheNextOneWaitsBehindItAndNotSooner) {
  agents_.clear();
  for (const char* name : {"n1", "n2"}) ASSERT_TRUE(is_lost(name));
  for (const char* name : {"h1", "h2"}) {
    agents_.push_back(
        std::make_unique<ScriptedAgent>(bench_.agent(name, testing_agent::Script::kHang)));
    ASSERT_TRUE(welcome(*agents_.back()));
  }
  bench_.write("replaced.yaml", kPairs);
  api::ScheduleSpec spec = minutely();
  spec.set_suite("replaced");
  spec.set_concurrency("replace");
  ASSERT_TRUE(add(spec).ok());
  const double due = next_minute();
  bench_.server_->start_due(due);
  ASSERT_THAT(runs(), SizeIs(1));
  const std::string first = runs()[0].run_id();
  bench_.write("replaced.yaml", "no suite");
  bench_.server_->start_due(due + 60 + run::kInTimeSeconds - 1);
  EXPECT_THAT(runs(), SizeIs(1));
  EXPECT_EQ(runs()[0].state(), "running") << "what could not start replaced nothing";
  bench_.write("replaced.yaml", kPairs);
  bench_.server_->start_due(due + 600);
  ASSERT_THAT(runs(), SizeIs(2));
  const api::RunDetail ended = bench_.end_of(first);
  EXPECT_EQ(ended.run().outcome(), "cancelled");
  EXPECT_THAT(ended.run().reason(),
              HasSubstr("cancelled by schedule minutely, for run " + runs()[0].run_id()));
}

TEST_F(SchedulesTest, RunNowStartsItBesideItsDueTimes) {
  api::ScheduleSpec spec = minutely();
  spec.set_paused(true);
  ASSERT_TRUE(add(spec).ok());
  api::ScheduleRef ref;
  ref.set_name("minutely");
  api::RunSummary run;
  const grpc::Status status = call(&api::Control::Stub::RunSchedule, ref, run);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(schedule("minutely").last().run_id(), run.run_id());
  EXPECT_EQ(schedule("minutely").last().result(), "by_hand");
}

TEST_F(SchedulesTest, WrongOnesAreRefusedInOneLine) {
  api::ScheduleSpec spec = minutely();
  spec.set_suite("piars");
  EXPECT_THAT(add(spec).error_message(), HasSubstr("did you mean \"pairs\"?"));
  spec = minutely();
  spec.set_cron("* * *");
  EXPECT_EQ(add(spec).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(add(minutely()).ok());
  EXPECT_THAT(add(minutely()).error_message(), HasSubstr("this name is taken"));
  api::ScheduleRef ref;
  ref.set_name("minutly");
  api::ScheduleInfo info;
  EXPECT_THAT(call(&api::Control::Stub::PauseSchedule, ref, info).error_message(),
              HasSubstr("did you mean \"minutely\"?"));
}

}  // namespace
}  // namespace railgauge
