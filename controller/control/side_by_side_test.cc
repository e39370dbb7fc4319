// Runs side by side over real gRPC: a controller, scripted agents, runs that meet and runs that do
// not.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using Message = api::ControllerMessage;

class SideBySide : public testing::Test {
 protected:
  void SetUp() override { bench_.start(); }

  ScriptedAgent& add(const std::string& name, Script script = Script::kHang) {
    agents_.push_back(std::make_unique<ScriptedAgent>(bench_.agent(name, script)));
    EXPECT_TRUE(testing_agent::welcome(*agents_.back()));
    return *agents_.back();
  }
  std::string start(const std::string& nodes, const std::string& trigger = "cli",
                    const std::string& suite = "group") {
    api::RunRequest request;
    request.mutable_suite()->set_name(suite);
    request.set_node_set(nodes);
    request.set_trigger(trigger);
    if (trigger == "upgrade") {  // as the gate does, which is inside the controller
      const auto started = bench_.server_->control().start_run(request, "gate");
      EXPECT_TRUE(started) << started.error().message;
      return started ? started->run_id() : "";
    }
    grpc::ClientContext context;
    api::RunSummary summary;
    const grpc::Status status = bench_.stub_->StartRun(&context, request, &summary);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return summary.run_id();
  }
  void cancel(const std::string& run_id) {
    api::RunRef ref;
    ref.set_run_id(run_id);
    grpc::ClientContext context;
    api::RunSummary summary;
    EXPECT_TRUE(bench_.stub_->CancelRun(&context, ref, &summary).ok());
  }
  api::RunSummary summary(const std::string& run_id) {
    api::RunRef ref;
    ref.set_run_id(run_id);
    grpc::ClientContext context;
    api::RunDetail detail;
    EXPECT_TRUE(bench_.stub_->GetRun(&context, ref, &detail).ok());
    return detail.run();
  }
  // Whether the agent gets so many messages of the kind, and no more until then.
  static bool gets(ScriptedAgent& agent, Message::BodyCase kind, std::size_t count) {
    bool exact = false;
    agent.wait_until([&](const ScriptedAgent& a) {
      exact = a.count(kind) == count;
      return a.count(kind) >= count;
    });
    return exact;
  }
  bool comes_to(const std::string& run_id, const std::string& state) {
    for (int i = 0; i < 2000; ++i) {
      if (summary(run_id).state() == state) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  testing_agent::ServerBench bench_;
  std::vector<std::unique_ptr<ScriptedAgent>> agents_;
};

TEST_F(SideBySide, RunsOfOtherNodesAreUnderWayTogetherAndAThirdSaysForWhomItWaits) {
  add("n1");
  ScriptedAgent& n2 = add("n2");
  add("n3");
  ScriptedAgent& n4 = add("n4");
  const std::string night = start("n1,n2", "schedule");
  ASSERT_TRUE(gets(n2, Message::kGo, 1));
  const std::string two = start("n3,n4");
  ASSERT_TRUE(gets(n4, Message::kGo, 1)) << "beside the night";
  const std::string third = start("n2,n3");
  EXPECT_EQ(summary(third).state(), "planned");
  EXPECT_THAT(summary(third).reason(), HasSubstr("waits for "));
  EXPECT_THAT(summary(third).reason(), HasSubstr("run " + night + " on n2"));
  EXPECT_THAT(summary(third).reason(), HasSubstr("run " + two + " on n3"));
  cancel(two);
  ASSERT_TRUE(comes_to(two, "ended"));
  EXPECT_EQ(summary(third).reason(), "waits for run " + night + " on n2");
  cancel(night);
  ASSERT_TRUE(gets(n2, Message::kGo, 2));
  EXPECT_EQ(summary(third).reason(), "");
  cancel(third);
  ASSERT_TRUE(comes_to(third, "ended"));
}

TEST_F(SideBySide, AGateTakesItsNodesFromANightWhichMeasuresThemAfterwards) {
  add("n1", Script::kPass);
  ScriptedAgent& n2 = add("n2");
  ScriptedAgent& n3 = add("n3");
  const std::string night = start("n1,n2", "schedule");
  ASSERT_TRUE(gets(n2, Message::kGo, 1));
  const std::string gate = start("n2,n3", "upgrade");
  ASSERT_TRUE(gets(n2, Message::kCancel, 1)) << "the night's task";
  ASSERT_TRUE(gets(n3, Message::kGo, 1)) << "the gate's task";
  EXPECT_EQ(summary(night).state(), "running");
  EXPECT_EQ(summary(night).reason(), "waits for run " + gate + " to give back n2");
  EXPECT_EQ(summary(night).tasks_ended(), 0U);
  cancel(gate);
  ASSERT_TRUE(gets(n2, Message::kGo, 3)) << "the night's task again";
  EXPECT_EQ(summary(night).reason(), "");
  cancel(night);
  ASSERT_TRUE(comes_to(night, "ended"));
  EXPECT_THAT(summary(night).reason(), HasSubstr("n2 lent to a gate for "));
}

// Else anyone who may start a run could interrupt a night.
TEST_F(SideBySide, AClientCannotHaveTheGatesTrigger) {
  add("n1");
  api::RunRequest request;
  request.mutable_suite()->set_name("group");
  request.set_trigger("upgrade");
  grpc::ClientContext context;
  api::RunSummary summary;
  const grpc::Status refused = bench_.stub_->StartRun(&context, request, &summary);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("railgauge upgrades gate"));
}

TEST_F(SideBySide, AGateWaitsForAPersonsRun) {
  ScriptedAgent& n1 = add("n1");
  add("n2");
  add("n3");
  const std::string own = start("n1,n2");
  ASSERT_TRUE(gets(n1, Message::kGo, 1));
  const std::string gate = start("n1,n3", "upgrade");
  EXPECT_EQ(summary(gate).reason(), "waits for run " + own + " on n1");
  EXPECT_TRUE(gets(n1, Message::kCancel, 0));
  cancel(gate);
  ASSERT_TRUE(comes_to(gate, "ended"));
  EXPECT_EQ(summary(gate).outcome(), "cancelled");
  cancel(own);
  ASSERT_TRUE(comes_to(own, "ended"));
}

// Whatever state its runs were in: waiting, under way, lending or borrowing.
TEST_F(SideBySide, ARestartedControllerHoldsNoNode) {
  add("n1");
  add("n2");
  ScriptedAgent& n3 = add("n3");
  add("n4");
  start("n1,n2,n3", "schedule");
  ASSERT_TRUE(gets(n3, Message::kGo, 1));
  start("n3,n4", "upgrade");
  ASSERT_TRUE(gets(n3, Message::kGo, 2)) << "borrowed";
  const std::string waiting = start("n1,n2");
  EXPECT_EQ(summary(waiting).state(), "planned");
  bench_.stop();
  agents_.clear();
  bench_.start();
  EXPECT_EQ(summary(waiting).state(), "ended");
  for (const char* name : {"n1", "n2", "n3", "n4"}) add(name, Script::kPass);
  const std::string next = start("n1,n2,n3,n4");
  ASSERT_TRUE(comes_to(next, "ended")) << summary(next).reason();
  EXPECT_THAT(summary(next).reason(), testing::Not(HasSubstr("waits for")));
}

}  // namespace
}  // namespace railgauge
