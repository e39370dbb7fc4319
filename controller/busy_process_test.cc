// Busy nodes end to end: the controller's, the agents' and the CLI's programs on one machine, with
// runners that measure nothing. A marker file makes a node busy.
#include <chrono>
#include <cstdio>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/agent_process.h"
#include "controller/testing/controller_process.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_agent::AgentProcess;
using testing_agent::ControllerProcess;
using testing_agent::Said;
using testing_agent::ServerBench;
using testing_agent::until;

class BusyNodes : public testing::Test {
 protected:
  void SetUp() override {
    bench_.write("short.yaml", suite("short", 0));
    bench_.write("long.yaml", suite("long", 4));
    controller_ = std::make_unique<ControllerProcess>(bench_, std::vector<std::string>{});
    ASSERT_TRUE(controller_->wait_until_serving()) << controller_->error_text();
    stub_ = api::Control::NewStub(
        grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
    for (const char* name : {"n1", "n2"})
      agents_.push_back(std::make_unique<AgentProcess>(
          bench_, name,
          testing_agent::AgentProcessOptions{
              .more = {"--busy-settle-seconds=0.2", "--watch-seconds=0.1"}}));
    ASSERT_TRUE(until([&] { return count_of("attached", "no") == 2; })) << nodes();
  }
  static std::string suite(const std::string& name, int seconds) {
    return fmt::format(
        "version: 1\nmetadata: {{name: {}}}\nstages:\n  - kernel: test.latency\n    parameters: "
        "{{seconds: {}}}\n"
        "    placement: {{pairs: all}}\n",
        name, seconds);
  }
  Said cli(const std::string& words) const { return testing_agent::cli(bench_, words); }
  std::string nodes() const { return cli("nodes").text; }
  int count_of(const std::string& state, const std::string& busy) {
    grpc::ClientContext context;
    api::NodeList list;
    if (!stub_->ListNodes(&context, {}, &list).ok()) return -1;
    int count = 0;
    for (const api::NodeInfo& node : list.nodes())
      count += node.state() == state && node.has_busy() && node.busy() == (busy == "yes") ? 1 : 0;
    return count;
  }
  api::RunDetail detail(const std::string& run_id) {
    return testing_agent::run_detail(*stub_, run_id);
  }
  void mark(const std::string& node, const std::string& words) {
    std::ofstream(bench_.path(node + "/busy")) << words << '\n';
  }
  void unmark(const std::string& node) { std::filesystem::remove(bench_.path(node + "/busy")); }

  ServerBench bench_;
  std::unique_ptr<ControllerProcess> controller_;
  std::unique_ptr<api::Control::Stub> stub_;
  std::vector<std::unique_ptr<AgentProcess>> agents_;
};

TEST_F(BusyNodes, ARunIsRefusedThereAndGoesWhenForcedWithAReason) {
  mark("n1", "maintenance by ann");
  ASSERT_TRUE(until([&] { return count_of("attached", "yes") == 1; })) << nodes();
  EXPECT_THAT(nodes(), AllOf(HasSubstr("marker: "), HasSubstr("maintenance by ann")));

  const Said refused = cli("run short --nodes n1,n2");
  EXPECT_EQ(refused.exit_code, 4) << refused.text;
  EXPECT_THAT(refused.text, AllOf(HasSubstr("node n1 is busy: marker: "),
                                  HasSubstr("maintenance by ann"), HasSubstr("--force --reason")));
  EXPECT_EQ(cli("run short --nodes n1,n2 --force").exit_code, 2);
  EXPECT_EQ(cli("run short --nodes n1,n2 --reason x").exit_code, 2);

  const Said forced =
      cli("run short --nodes n1,n2 --force --reason 'ann is with me' --format json");
  EXPECT_EQ(forced.exit_code, 0) << forced.text;
  EXPECT_THAT(cli("results --format json").text, HasSubstr("\"forced\": \"ann is with me\""));
  const Said notes = cli("sql \"SELECT subject_kind, text FROM operator_note\"");
  EXPECT_THAT(notes.text,
              AllOf(HasSubstr("run"), HasSubstr("ann is with me"), HasSubstr("on busy nodes n1")));
  EXPECT_THAT(cli("sql \"SELECT text FROM event WHERE kind = 'run_forced'\"").text,
              HasSubstr("ann is with me"));
}

TEST_F(BusyNodes, WithoutANodeSetTheIdleOnesAreTaken) {
  mark("n1", "x");
  mark("n2", "y");
  ASSERT_TRUE(until([&] { return count_of("attached", "yes") == 2; })) << nodes();
  const Said none = cli("run short");
  EXPECT_EQ(none.exit_code, 4) << none.text;
  EXPECT_THAT(none.text, HasSubstr("every attached node is busy"));
}

TEST_F(BusyNodes, ATaskGivesWayWithinTwoSecondsAndComesAgainWhenTheNodeIsIdle) {
  const Said started = cli("run long --nodes n1,n2 --detach");
  ASSERT_EQ(started.exit_code, 0) << started.text;
  std::string run_id = started.text.substr(started.text.rfind('\n', started.text.size() - 2) + 1);
  std::erase(run_id, '\n');
  ASSERT_TRUE(until([&] { return detail(run_id).tasks(0).state() == "running"; }));

  const auto arrived = std::chrono::steady_clock::now();
  mark("n2", "a job came");
  ASSERT_TRUE(until([&] { return detail(run_id).tasks(0).state() == "waiting"; }, 10))
      << detail(run_id).ShortDebugString();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - arrived;
  EXPECT_LT(took.count(), 2.0);
  RecordProperty("yield_seconds", fmt::format("{:.2f}", took.count()));
  std::printf("gave way after %.2f s\n", took.count());
  const api::RunDetail given = detail(run_id);
  EXPECT_EQ(given.tasks(0).outcome(), "cancelled");
  EXPECT_THAT(given.tasks(0).reason(),
              AllOf(HasSubstr("node n2 is busy: marker: "), HasSubstr("a job came")));
  EXPECT_EQ(given.run().state(), "running") << "the run goes on";

  unmark("n2");
  const Said ended = cli("runs wait " + run_id);
  EXPECT_EQ(ended.exit_code, 0) << ended.text;
  EXPECT_EQ(detail(run_id).tasks(0).attempts(), 2U);
  EXPECT_EQ(detail(run_id).run().outcome(), "passed");
  EXPECT_THAT(cli("sql \"SELECT kind, text FROM event\"").text,
              AllOf(HasSubstr("node_busy"), HasSubstr("node_idle"), HasSubstr("node n2 is busy")));
}

TEST_F(BusyNodes, WhatTheWatchNoticesIsAnEventOfTheNode) {
  const auto events = [&] {
    return cli("sql \"SELECT text FROM event WHERE kind = 'watch_counter'\"").text;
  };
  std::this_thread::sleep_for(
      std::chrono::milliseconds(500));  // the first look is where it counts from
  EXPECT_THAT(events(), Not(HasSubstr("link_downed")));
  std::ofstream(bench_.path("n1/sys/class/infiniband/rxe0/ports/1/counters/link_downed")) << "4\n";
  EXPECT_TRUE(until([&] {
    return events().find("critical: rxe0:1 link_downed: 1 within") != std::string::npos;
  })) << events();
}

}  // namespace
}  // namespace railgauge
