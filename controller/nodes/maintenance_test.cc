// Labels and maintenance over gRPC: a controller with scripted agents, whose figures measure
// nothing.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/schedules_bench.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_agent::Script;

class MaintenanceTest : public testing_agent::SchedulesTest {
 protected:
  using Stub = api::Control::Stub;

  void add_labelled(const std::string& name, const std::string& rack,
                    Script script = Script::kPass) {
    testing_agent::AgentOptions options = bench_.agent(name, script);
    options.first_spool_id = next_spool_id_ += 1'000;
    options.change_hello = [rack](api::Hello& hello) { (*hello.mutable_labels())["rack"] = rack; };
    agents_.push_back(std::make_unique<testing_agent::ScriptedAgent>(options));
    ASSERT_TRUE(welcome(*agents_.back()));
    // The store has the labels a moment later.
    for (int i = 0; i < 500 && nodes(name).nodes(0).labels().empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // The paused nodes, or the error.
  std::string pause(const std::string& node_set, double seconds, const std::string& reason) {
    api::PauseNodesRequest request;
    request.set_node_set(node_set);
    request.set_for_seconds(seconds);
    request.set_reason(reason);
    api::NodeList list;
    const grpc::Status status = call(&Stub::PauseNodes, request, list);
    return status.ok() ? names_of(list) : status.error_message();
  }
  std::string resume(const std::string& node_set) {
    api::ResumeNodesRequest request;
    request.set_node_set(node_set);
    api::NodeList list;
    const grpc::Status status = call(&Stub::ResumeNodes, request, list);
    return status.ok() ? names_of(list) : status.error_message();
  }
  static std::string names_of(const api::NodeList& list) {
    std::string names;
    for (const api::NodeInfo& node : list.nodes())
      names += (names.empty() ? "" : ",") + node.name();
    return names;
  }
  api::NodeList nodes(const std::string& node_set = "") {
    api::ListNodesRequest request;
    request.set_node_set(node_set);
    api::NodeList list;
    const grpc::Status status = call(&Stub::ListNodes, request, list);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return list;
  }
  std::string paused() {
    std::string names;
    const api::NodeList list = nodes();
    for (const api::NodeInfo& node : list.nodes())
      if (node.has_pause()) names += (names.empty() ? "" : ",") + node.name();
    return names;
  }
  static api::RunRequest run_of(const std::string& node_set, const std::string& suite = "pairs") {
    api::RunRequest request;
    request.mutable_suite()->set_name(suite);
    request.set_node_set(node_set);
    return request;
  }
  grpc::Status start(const api::RunRequest& request, api::RunSummary& run) {
    return call(&Stub::StartRun, request, run);
  }
};

TEST_F(MaintenanceTest, APausedNodeIsLeftOutAndComesBackByItself) {
  add_agent("n3");
  EXPECT_EQ(pause("n3", 3'600, "DIMM"), "n3");
  for (const char* node_set : {"", "n1,n2,n3"}) {
    api::RunSummary run;
    const grpc::Status started = start(run_of(node_set), run);
    ASSERT_TRUE(started.ok()) << started.error_message();
    ASSERT_THAT(run.left_out(), SizeIs(1));
    EXPECT_THAT(run.left_out(0), HasSubstr("in maintenance, left out: n3 (paused until 2"));
    EXPECT_THAT(run.left_out(0), HasSubstr(": DIMM)"));
    const api::RunDetail end = bench_.end_of(run.run_id());
    EXPECT_THAT(end.run().nodes(), ElementsAre("n1", "n2"));
    EXPECT_THAT(end.run().left_out(), ElementsAre(run.left_out(0)));
  }
  bench_.server_->start_due(fleet::unix_seconds() + 3'500);
  EXPECT_EQ(paused(), "n3");
  bench_.server_->start_due(fleet::unix_seconds() + 3'601);
  EXPECT_EQ(paused(), "");
  api::RunSummary run;
  ASSERT_TRUE(start(run_of(""), run).ok());
  EXPECT_THAT(bench_.end_of(run.run_id()).run().nodes(), ElementsAre("n1", "n2", "n3"));
  EXPECT_THAT(run.left_out(), IsEmpty());
  EXPECT_EQ(stored_event("maintenance_over"), "node n3 is resumed: its pause is over");
}

TEST_F(MaintenanceTest, ARunOfPausedNodesAloneSaysSoUnlessItIsForced) {
  EXPECT_EQ(pause("n1,n2", 3'600, "DIMM"), "n1,n2");
  api::RunSummary run;
  const grpc::Status refused = start(run_of("n1,n2"), run);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(refused.error_message(), HasSubstr("no node can be used: node n1 is paused until 2"));
  EXPECT_THAT(refused.error_message(),
              HasSubstr("(and 1 others are paused); railgauge nodes resume"));
  api::RunRequest forced = run_of("n1,n2");
  forced.set_force(true);
  forced.set_force_reason("is it well?");
  ASSERT_TRUE(start(forced, run).ok());
  EXPECT_EQ(bench_.end_of(run.run_id()).run().outcome(), "passed");
}

TEST_F(MaintenanceTest, APauseSurvivesARestartAndANodeThatIsAway) {
  EXPECT_EQ(pause("n2", 3'600, "mainboard"), "n2");
  restart();
  EXPECT_EQ(paused(), "n2");
  agents_.pop_back();
  ASSERT_TRUE(is_lost("n2"));
  api::RunRequest alone = run_of("n1,n2", "group");
  api::RunSummary run;
  ASSERT_TRUE(start(alone, run).ok()) << "a paused node need not be attached";
  EXPECT_EQ(resume("n2"), "n2");
  EXPECT_EQ(paused(), "");
  EXPECT_THAT(resume("n2"), HasSubstr("n2: none of them is paused"));
  EXPECT_THAT(resume(""), HasSubstr("which nodes?"));
  EXPECT_THAT(pause("", 60, "x"), HasSubstr("which nodes?"));
  EXPECT_THAT(pause("n9", 60, "x"), HasSubstr("unknown node"));
}

TEST_F(MaintenanceTest, ARunUnderWayYieldsToAPauseAndGoesOnAfterIt) {
  add_labelled("h1", "r9", Script::kHang);
  add_labelled("h2", "r9", Script::kHang);
  using Message = api::ControllerMessage;
  const auto has = [](Message::BodyCase kind, std::size_t count) {
    return [kind, count](const testing_agent::ScriptedAgent& agent) {
      return agent.count(kind) >= count;
    };
  };
  api::RunSummary run;
  ASSERT_TRUE(start(run_of("&rack=r9"), run).ok());
  ASSERT_TRUE(agents_.back()->wait_until(has(Message::kGo, 1)));
  EXPECT_EQ(pause("h2", 3'600, "DIMM"), "h2");
  ASSERT_TRUE(agents_.back()->wait_until(has(Message::kCancel, 1)));
  EXPECT_EQ(agents_.back()->count(Message::kPrepare), 1U);
  EXPECT_EQ(resume("h2"), "h2");
  EXPECT_TRUE(agents_.back()->wait_until(has(Message::kPrepare, 2)));
}

TEST_F(MaintenanceTest, LabelsOfAgentsChooseNodesInEveryCall) {
  add_labelled("n3", "r7");
  add_labelled("n4", "r7");
  EXPECT_EQ(names_of(nodes("&rack=r7")), "n3,n4");
  EXPECT_EQ(names_of(nodes("n1,@r7,!n4")), "n1,n3");
  EXPECT_EQ(nodes("n3").nodes(0).labels().at("rack"), "r7");
  EXPECT_EQ(pause("@r7", 3'600, "rack moves"), "n3,n4");
  EXPECT_EQ(resume("&rack=r7"), "n3,n4");
  api::RunSummary run;
  ASSERT_TRUE(start(run_of("@r7"), run).ok());
  EXPECT_THAT(bench_.end_of(run.run_id()).run().nodes(), ElementsAre("n3", "n4"));
  api::ListNodesRequest wrong;
  wrong.set_node_set("&rak=r7");
  api::NodeList list;
  EXPECT_THAT(call(&Stub::ListNodes, wrong, list).error_message(),
              HasSubstr("no node has a label \"rak\"; did you mean \"rack\"?"));
}

}  // namespace
}  // namespace railgauge
