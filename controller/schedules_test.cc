// Schedules of a whole controller: what starts, what is claimed, what a restart does to it.
#include "controller/schedules.h"

#include <chrono>
#include <cmath>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

class SchedulesTest : public testing::Test {
 protected:
  void SetUp() override {
    bench_.start();
    for (const char* name : {"n1", "n2"}) add_agent(name);
  }
  void add_agent(const std::string& name) {
    agents_.push_back(std::make_unique<ScriptedAgent>(bench_.agent(name)));
    ASSERT_TRUE(welcome(*agents_.back()));
  }
  void restart() {
    agents_.clear();
    bench_.stop();
    bench_.start();
    for (const char* name : {"n1", "n2"}) add_agent(name);
  }
  // Of a rpc by its stub method.
  template <class Request, class Answer>
  grpc::Status call(grpc::Status (api::Control::Stub::*method)(grpc::ClientContext*, const Request&,
                                                               Answer*),
                    const Request& request, Answer& answer) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return (bench_.stub_.get()->*method)(&context, request, &answer);
  }
  static api::ScheduleSpec minutely() {
    api::ScheduleSpec spec;
    spec.set_name("minutely");
    spec.set_suite("pairs");
    spec.set_cron("* * * * *");
    return spec;
  }
  grpc::Status add(const api::ScheduleSpec& spec) {
    api::ScheduleInfo info;
    return call(&api::Control::Stub::AddSchedule, spec, info);
  }
  api::ScheduleInfo schedule(const std::string& name) {
    api::ListSchedulesRequest request;
    request.set_name(name);
    api::ScheduleList list;
    const grpc::Status status = call(&api::Control::Stub::ListSchedules, request, list);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return list.schedules_size() == 1 ? list.schedules(0) : api::ScheduleInfo();
  }
  std::vector<api::RunSummary> runs() {
    api::RunList list;
    EXPECT_TRUE(call(&api::Control::Stub::ListRuns, api::ListRunsRequest(), list).ok());
    return {list.runs().begin(), list.runs().end()};
  }
  // Waits until the controller has seen that the node is gone; false when it never does.
  bool is_lost(const std::string& name) {
    api::ListNodesRequest request;
    request.set_node_set(name);
    for (int i = 0; i < 1000; ++i) {
      api::NodeList nodes;
      if (!call(&api::Control::Stub::ListNodes, request, nodes).ok()) return false;
      if (nodes.nodes_size() == 1 && nodes.nodes(0).state() == "lost") return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // A moment at which the next minute has just begun; the schedule was added before it.
  static double next_minute() { return (std::floor(fleet::unix_seconds() / 60) + 1) * 60; }

  ServerBench bench_;
  std::vector<std::unique_ptr<ScriptedAgent>> agents_;
};

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
  EXPECT_THAT(runs(), SizeIs(1));
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
