// Runs that follow up what they found: through the whole controller with scripted agents over real
// gRPC (synthetic).
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/api/archive.grpc.pb.h"
#include "controller/control/drill_down.h"
#include "controller/plan/testing/plan_testing.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

class DrillDownRun : public testing::Test {
 protected:
  void SetUp() override {
    bench_.write("drill.yaml",
                 "version: 1\nmetadata: {name: drill}\nrounds: {drill_down: true}\nstages:\n  - "
                 "kernel: fake.lat\n    placement: {pairs: all, directions: both}\n");
    bench_.write("groups.yaml",
                 "version: 1\nmetadata: {name: groups}\nrounds: {drill_down: true}\nstages:\n  - "
                 "kernel: fake.group\n    placement: {group: all}\n");
    bench_.write("floor.yaml",
                 "version: 1\nmetadata: {name: floor}\nrounds: {drill_down: true}\nstages:\n  - "
                 "kernel: fake.group\n    placement: {group: all}\n    limits: [{metric: "
                 "latency_ns, floor: 1us}]\n");
    bench_.write("memory.yaml",
                 "version: 1\nmetadata: {name: memory}\nrounds: {drill_down: true}\nstages:\n  - "
                 "kernel: fake.memory\n    parameters: {memory: cuda}\n    placement: {pairs: all, "
                 "directions: both}\n");
    bench_.start();
  }
  void attach(const std::string& name, Script script = Script::kPass, double median = 1'500) {
    testing_agent::AgentOptions options = bench_.agent(name, script);
    options.median = median;
    agents_[name] = std::make_unique<ScriptedAgent>(options);
    ASSERT_TRUE(welcome(*agents_[name]));
  }
  // At its end.
  api::RunDetail run(const std::string& suite, const std::string& trigger = "cli") {
    api::RunRequest request;
    request.set_trigger(trigger);
    request.mutable_suite()->set_name(suite);
    api::RunSummary started;
    grpc::ClientContext starting;
    const grpc::Status status = bench_.stub_->StartRun(&starting, request, &started);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return bench_.end_of(started.run_id());
  }
  api::SuspectList suspects(const std::string& run_id) {
    const auto archive = api::Archive::NewStub(
        grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
    api::PairsRequest request;
    request.set_run_id(run_id);
    grpc::ClientContext context;
    api::SuspectList list;
    const grpc::Status status = archive->GetSuspects(&context, request, &list);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return list;
  }
  static std::vector<api::TaskDetail> added(const api::RunDetail& run) {
    std::vector<api::TaskDetail> tasks;
    for (const api::TaskDetail& task : run.tasks())
      if (plan::is_follow_up(task.task_id())) tasks.push_back(task);
    return tasks;
  }

  ServerBench bench_;
  std::map<std::string, std::unique_ptr<ScriptedAgent>> agents_;
};

TEST_F(DrillDownRun, ASuspectIsMeasuredAgainstKnownGoodPartnersBeforeTheRunEnds) {
  for (const char* name : {"a", "b", "c"}) attach(name);
  attach("d", Script::kPass, 9'000);  // as the sender, which reports
  const api::RunDetail detail = run("drill");
  EXPECT_EQ(detail.run().outcome(), "passed");
  const std::vector<api::TaskDetail> tasks = added(detail);
  ASSERT_THAT(tasks, SizeIs(3));
  std::set<std::string> partners;
  for (const api::TaskDetail& task : tasks) {
    EXPECT_EQ(task.outcome(), "passed");
    EXPECT_TRUE(std::string(task.endpoints(0)).starts_with("d/")) << task.endpoints(0);
    partners.insert(task.endpoints(1));
  }
  EXPECT_THAT(partners, SizeIs(3));
  const api::SuspectList list = suspects(detail.run().run_id());
  ASSERT_GE(list.suspects_size(), 1);
  EXPECT_EQ(list.suspects(0).node(), "d");
  EXPECT_EQ(list.suspects(0).direction(), "sends");
  EXPECT_TRUE(list.suspects(0).confirmed());
  EXPECT_EQ(list.suspects(0).retest_answer(), "confirmed");
  EXPECT_THAT(list.suspects(0).wanted(), IsEmpty());
  EXPECT_EQ(list.measured_pairs(), 12) << "what was measured again counts once";
}

// d's first GPU is slow, its second one is not: that GPU's path, not the NIC.
TEST_F(DrillDownRun, ASlowGpuIsToldFromItsNicByAnotherGpuOnTheSameNic) {
  for (const char* name : {"a", "b", "c", "d"}) {
    testing_agent::AgentOptions options = bench_.agent(name);
    for (const char* gpu : {"gpu0", "gpu1"}) {
      options.gpus.emplace_back().set_name(gpu);
      options.gpus.back().set_state("active");
    }
    if (*name == 'd') options.median_with_gpu = {{"0", 9'000}, {"1", 1'500}};
    agents_[name] = std::make_unique<ScriptedAgent>(options);
    ASSERT_TRUE(welcome(*agents_[name]));
  }
  const api::RunDetail detail = run("memory");
  EXPECT_EQ(detail.run().outcome(), "passed");
  const std::vector<api::TaskDetail> tasks = added(detail);
  ASSERT_THAT(tasks, SizeIs(4)) << "three partners, and one with another GPU";
  const api::TaskDetail& other = tasks[3];
  EXPECT_EQ(other.endpoints(0), "d/rxe0:1+gpu1");
  std::map<std::string, std::string> told;  // the parameters that d received
  for (const api::ControllerMessage& message : agents_["d"]->received())
    if (message.has_prepare() && message.prepare().task().task_id() == other.task_id())
      told = {message.prepare().parameters().begin(), message.prepare().parameters().end()};
  EXPECT_EQ(told["gpu"], "1");
  const api::SuspectList list = suspects(detail.run().run_id());
  ASSERT_GE(list.suspects_size(), 1);
  EXPECT_EQ(list.suspects(0).node(), "d");
  EXPECT_THAT(list.suspects(0).retest(), HasSubstr("another GPU on the same NIC"));
  EXPECT_THAT(list.suspects(0).retest(), HasSubstr("this GPU's path"));
}

TEST_F(DrillDownRun, AHealthyRunAddsNothing) {
  for (const char* name : {"a", "b", "c", "d"}) attach(name);
  const api::RunDetail detail = run("drill");
  EXPECT_EQ(detail.run().outcome(), "passed");
  EXPECT_THAT(added(detail), IsEmpty());
}

TEST_F(DrillDownRun, ATwentiethOfANightsPairsIsMeasuredTwice) {
  for (const char* name : {"a", "b", "c", "d", "e"}) attach(name);
  const api::RunDetail detail = run("drill", "schedule");
  const std::vector<api::TaskDetail> tasks = added(detail);
  ASSERT_THAT(tasks, SizeIs(1)) << "of 20, both ways";
  EXPECT_EQ(tasks[0].task_id(), "a0001");
  EXPECT_EQ(tasks[0].outcome(), "passed");
}

// The same happens if production work begins while the group is halved.
TEST(DrillDown, AGroupWhoseTestsDidNotRunAccusesNobody) {
  const auto outline = plan::PlanOutline::make(
      plan::suite_of({plan::stage_of("fake.group", plan::PlacementKind::kGroup)}),
      plan::some_nodes(4), plan::fake_kernels());
  ASSERT_TRUE(outline) << outline.error().message;
  for (const char* outcome : {"cancelled", "waived"}) {
    plan::TaskBook book(*outline);
    DrillDown drill_down;
    const auto outcome_of = [&](std::size_t index) -> std::string_view {
      return index == 0 ? "failed" : outcome;
    };
    std::vector<plan::PlannedTask> again = drill_down.next(book, outcome_of, {});
    ASSERT_THAT(again, SizeIs(1));
    book.add(std::move(again[0]));
    EXPECT_THAT(drill_down.next(book, outcome_of, {}), IsEmpty());
    ASSERT_THAT(drill_down.notes(), SizeIs(1));
    EXPECT_EQ(drill_down.notes()[0],
              "fake.group by halves, 1 tests: n1 n2 n3 n4 could not be separated from their "
              "partners, since "
              "1 of the tests did not run");
  }
}

TEST_F(DrillDownRun, AGroupThatFailsIsHalvedUntilTheNodeIsNamed) {
  for (const char* name : {"a", "b", "d", "e"}) attach(name);
  attach("c", Script::kFail);
  const api::RunDetail detail = run("groups");
  EXPECT_EQ(detail.run().outcome(), "failed");
  EXPECT_THAT(detail.run().reason(), HasSubstr("fake.group by halves"));
  EXPECT_THAT(detail.run().reason(), HasSubstr("c failed with two known-good partners"));
  for (const api::TaskDetail& task : added(detail)) {
    bool has_c = false;
    for (const std::string& endpoint : task.endpoints())
      has_c = has_c || endpoint.starts_with("c/");
    EXPECT_EQ(task.outcome(), has_c ? "failed" : "passed") << task.task_id();
  }
}

// All ranks pass each time: only the figure shows the fault, for the whole and for its parts.
TEST_F(DrillDownRun, AGroupThatPassesBelowItsFloorIsHalvedUntilTheNodeIsNamed) {
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    testing_agent::AgentOptions options = bench_.agent(name);
    options.median_with_node = {{"c", 900}};
    agents_[name] = std::make_unique<ScriptedAgent>(options);
    ASSERT_TRUE(welcome(*agents_[name]));
  }
  const api::RunDetail detail = run("floor");
  EXPECT_EQ(detail.run().outcome(), "failed");
  ASSERT_GE(detail.tasks_size(), 1);
  EXPECT_EQ(detail.tasks(0).outcome(), "failed");
  EXPECT_THAT(detail.tasks(0).reason(), HasSubstr("below the suite's floor of"));
  EXPECT_THAT(detail.run().reason(), HasSubstr("fake.group by halves"));
  EXPECT_THAT(detail.run().reason(), HasSubstr("c failed with two known-good partners"));
  EXPECT_GE(added(detail).size(), 3u);
  for (const api::TaskDetail& task : added(detail)) {
    bool has_c = false;
    for (const std::string& endpoint : task.endpoints())
      has_c = has_c || endpoint.starts_with("c/");
    EXPECT_EQ(task.outcome(), has_c ? "failed" : "passed") << task.task_id();
  }
}

}  // namespace
}  // namespace railgauge
