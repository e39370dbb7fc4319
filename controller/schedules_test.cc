// Schedules of a whole controller: what starts, what is claimed, what a restart does to it.
#include "controller/schedules.h"

#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

constexpr const char* kPairs =
    "version: 1\nmetadata: {name: pairs}\nstages:\n  - kernel: fake.lat\n    placement: {pairs: "
    "all}\n";

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
  // On the next New Year's Eve.
  static api::ScheduleSpec yearly() {
    api::ScheduleSpec spec = minutely();
    spec.set_name("yearly");
    spec.set_cron("0 12 31 12 *");
    return spec;
  }
  static double due_of_yearly() {
    const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now() +
                                                             std::chrono::hours(12));
    const std::chrono::sys_days due =
        std::chrono::year_month_day(today).year() / std::chrono::December / 31;
    return std::chrono::duration<double>(due.time_since_epoch()).count() + 12 * 3600.0;
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
  // As its agent would tell: nothing is it idle again with.
  void tell_busy(std::size_t agent, const std::string& name, const std::string& with) {
    api::AgentMessage message;
    api::BusyState& busy = *message.mutable_heartbeat()->mutable_busy();
    if (!with.empty()) {
      busy.add_reasons()->set_source("slurm");
      busy.mutable_reasons(0)->set_text(with);
    }
    agents_[agent]->send(message);
    api::ListNodesRequest request;
    request.set_node_set(name);
    api::NodeList nodes;
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(call(&api::Control::Stub::ListNodes, request, nodes).ok());
      if (nodes.nodes_size() == 1 && nodes.nodes(0).busy() == !with.empty()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << name << " is not seen as " << (with.empty() ? "idle" : "busy");
  }
  // That of the newest event of that kind; stops the controller, whose store it reads.
  std::string stored_event(const std::string& kind) {
    agents_.clear();
    bench_.stop();
    auto store = store::Store::open({.path = bench_.config_.database});
    EXPECT_TRUE(store) << store.error().message;
    if (!store) return "";
    const auto events = (*store)->list_events(100);
    if (events)
      for (const store::EventRow& event : *events)
        if (event.kind == kind) return event.text;
    return "";
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

class SlicedNights : public SchedulesTest {
 protected:
  void SetUp() override {
    bench_.write("sliced.yaml", text());
    SchedulesTest::SetUp();
    for (const char* name : {"n3", "n4"}) add_agent(name);
  }
  static std::string text() {
    return "version: 1\nmetadata: {name: sliced}\nstages:\n  - kernel: fake.lat\n    placement: "
           "{pairs: all, slice: 3}\n";
  }
  // Of that day's slice of four nodes.
  std::set<std::string> pairs_of(std::int64_t day) {
    api::RunRequest request;
    request.mutable_suite()->set_text(
        fmt::format("{}night: {{day: {}, nodes: \"n1,n2,n3,n4\"}}\n", text(), day));
    request.set_node_set("n1,n2,n3,n4");
    api::RunPlan plan;
    EXPECT_TRUE(call(&api::Control::Stub::PlanRun, request, plan).ok());
    std::set<std::string> pairs;
    for (const api::PlannedTask& task : plan.tasks())
      pairs.insert(task.endpoints(0) + " " + task.endpoints(1));
    return pairs;
  }
  static std::set<std::string> pairs_of(const api::RunDetail& run) {
    std::set<std::string> pairs;
    for (const api::TaskDetail& task : run.tasks())
      pairs.insert(task.endpoints(0) + " " + task.endpoints(1));
    return pairs;
  }
  static constexpr double kDay = 86'400;
  // That has not begun, in UTC.
  static std::int64_t next_day() {
    return static_cast<std::int64_t>(fleet::unix_seconds() / kDay) + 1;
  }
};

// Due at 23:30 and made up for after midnight; the next night is in time.
TEST_F(SlicedNights, TakeTheSliceOfTheirDueDayHoweverLateTheyBegin) {
  api::ScheduleSpec spec = minutely();
  spec.set_suite("sliced");
  spec.set_cron("30 23 * * *");
  spec.set_catch_up_seconds(7'200);
  ASSERT_TRUE(add(spec).ok());
  const std::int64_t day = next_day();
  const double due = static_cast<double>(day) * kDay + 23.5 * 3'600;
  std::set<std::string> met;
  for (int night = 0; night < 3; ++night) {
    bench_.server_->start_due(due + night * kDay + (night == 0 ? 3'600 : 10));
    ASSERT_THAT(runs(), SizeIs(night + 1));
    const std::set<std::string> pairs = pairs_of(bench_.end_of(runs()[0].run_id()));
    EXPECT_EQ(pairs, pairs_of(day + night)) << "night " << night;
    met.insert(pairs.begin(), pairs.end());
  }
  EXPECT_THAT(met, SizeIs(6)) << "all pairs of four in three nights";
}

// 00:30 in Tokyo is the day before in UTC.
TEST_F(SlicedNights, GoByTheDayOfTheirOwnZone) {
  api::ScheduleSpec spec = minutely();
  spec.set_suite("sliced");
  spec.set_cron("30 0 * * *");
  spec.set_zone("Asia/Tokyo");
  ASSERT_TRUE(add(spec).ok());
  const std::int64_t day = next_day() + 1;
  bench_.server_->start_due(static_cast<double>(day) * kDay + (0.5 - 9) * 3'600 + 10);
  ASSERT_THAT(runs(), SizeIs(1));
  EXPECT_EQ(pairs_of(bench_.end_of(runs()[0].run_id())), pairs_of(day));
}

TEST_F(SlicedNights, WithABusyAndAnAbsentNodeTheOthersMeetAsTheyWouldHave) {
  const std::int64_t first = next_day();
  std::vector<std::set<std::string>> expected;
  for (std::int64_t day = first; day < first + 3; ++day) {
    expected.push_back(pairs_of(day));
    std::erase_if(expected.back(), [](const std::string& pair) {
      return pair.find("n1/") != std::string::npos || pair.find("n4/") != std::string::npos;
    });
  }
  agents_.pop_back();
  ASSERT_TRUE(is_lost("n4"));
  tell_busy(0, "n1", "job 4711 here");
  std::size_t measured = 0;
  for (const std::string& node_set : {std::string(), std::string("n1,n2,n3,n4")})
    for (std::size_t night = 0; night < expected.size(); ++night) {
      api::ScheduleSpec spec = minutely();
      spec.set_name(fmt::format("night{}of{}", night, node_set.size()));
      spec.set_suite("sliced");
      spec.set_node_set(node_set);
      spec.set_cron("0 12 * * *");
      ASSERT_TRUE(add(spec).ok());
      const std::size_t before = runs().size();
      bench_.server_->start_due(
          static_cast<double>(first + static_cast<std::int64_t>(night)) * kDay + 12 * 3'600 + 10);
      const std::vector<api::RunSummary> now = runs();
      if (now.size() > before) {
        EXPECT_EQ(pairs_of(bench_.end_of(now[0].run_id())), expected[night]);
        ++measured;
      } else {
        EXPECT_THAT(expected[night], SizeIs(0));
      }
      api::ScheduleRef ref;
      ref.set_name(spec.name());
      api::ScheduleInfo info;
      ASSERT_TRUE(call(&api::Control::Stub::RemoveSchedule, ref, info).ok());
    }
  EXPECT_EQ(measured, 2u) << "n2 with n3, on one night in three";
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
