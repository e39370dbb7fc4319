// A controller with two agents, and what a test of its schedules asks of it. For tests only.
#pragma once

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "controller/testing/server_bench.h"

namespace railgauge::testing_agent {

inline constexpr const char* kPairs =
    "version: 1\nmetadata: {name: pairs}\nstages:\n  - kernel: fake.lat\n    placement: {pairs: "
    "all}\n";

class SchedulesTest : public testing::Test {
 protected:
  void SetUp() override {
    bench_.start();
    for (const char* name : {"n1", "n2"}) add_agent(name);
  }
  void add_agent(const std::string& name, Script script = Script::kPass) {
    AgentOptions options = bench_.agent(name, script);
    options.first_spool_id = next_spool_id_ += 1'000;  // no spool's numbers come twice
    agents_.push_back(std::make_unique<ScriptedAgent>(options));
    ASSERT_TRUE(welcome(*agents_.back()));
  }
  void restart() {
    bench_.stop();
    agents_.clear();
    bench_.start();
    for (const char* name : {"n1", "n2"}) add_agent(name);
  }
  // Calls an RPC by its stub method.
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
  void tell_busy(std::size_t agent, const std::string& name, const std::string& with) {
    ASSERT_TRUE(bench_.tells_busy(*agents_[agent], name, with)) << name << ", busy with: " << with;
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

  std::uint64_t next_spool_id_ = 0;
  ServerBench bench_;
  std::vector<std::unique_ptr<ScriptedAgent>> agents_;
};

}  // namespace railgauge::testing_agent
