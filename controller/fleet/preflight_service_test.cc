// Preflight through the controller, against scripted agents over real gRPC. Synthetic.
#include "controller/fleet/preflight_service.h"

#include <chrono>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

class PreflightTest : public testing::Test {
 protected:
  void SetUp() override { bench_.start(); }

  void add(const std::string& name, Script script = Script::kPass) {
    agents_.push_back(std::make_unique<ScriptedAgent>(bench_.agent(name, script)));
    ASSERT_TRUE(welcome(*agents_.back()));
  }
  Result<api::PreflightReport> preflight(const std::string& nodes = "") {
    api::PreflightRequest request;
    request.set_node_set(nodes);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    api::PreflightReport report;
    const grpc::Status status = bench_.stub_->RunPreflight(&context, request, &report);
    if (!status.ok()) return fail(static_cast<Code>(status.error_code()), status.error_message());
    return report;
  }

  ServerBench bench_;
  std::vector<std::unique_ptr<ScriptedAgent>> agents_;
};

TEST_F(PreflightTest, EachNodesAnswerIsItsOwnWhateverItClaims) {
  add("n1");
  add("bad2");
  const auto report = preflight();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_THAT(report->nodes(), SizeIs(2));
  EXPECT_EQ(report->nodes(0).node(), "bad2");
  EXPECT_EQ(report->nodes(0).state(), "fail");
  EXPECT_EQ(report->nodes(1).node(), "n1");
  EXPECT_EQ(report->nodes(1).state(), "pass");
  for (const auto& check : report->checks()) EXPECT_NE(check.node(), "somebody-else");
}

TEST_F(PreflightTest, AnAnswerBeyondItsBoundsIsRefusedNamingItsNodeAndTheOthersStay) {
  add("n1");
  auto options = bench_.agent("n2");
  options.change_answer = [](api::PreflightAnswer& answer) {
    answer.mutable_report()->mutable_checks(0)->set_observed(std::string(3'000'000, 'x'));
  };
  agents_.push_back(std::make_unique<ScriptedAgent>(options));
  ASSERT_TRUE(welcome(*agents_.back()));
  options = bench_.agent("n3");
  options.change_answer = [](api::PreflightAnswer& answer) {
    answer.mutable_report()->mutable_checks(0)->set_observed("\x1b[2J\nforged");
  };
  agents_.push_back(std::make_unique<ScriptedAgent>(options));
  ASSERT_TRUE(welcome(*agents_.back()));
  const auto report = preflight();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_THAT(report->nodes(), SizeIs(3));
  EXPECT_EQ(report->nodes(0).error(), "");
  EXPECT_EQ(report->nodes(1).node(), "n2");
  EXPECT_EQ(report->nodes(1).state(), "error");
  EXPECT_THAT(report->nodes(1).error(), HasSubstr("at most 1048576 are allowed"));
  EXPECT_FALSE(agents_[1]->ended()) << "its stream stays";
  ASSERT_THAT(report->checks(), SizeIs(2));
  EXPECT_EQ(report->checks(1).observed(), "\\x1b[2J\\nforged");
}

// As the site profile has them.
TEST(PreflightSiteRules, AreTakenToEachNode) {
  ServerBench bench;
  bench.write("site.yaml",
              "version: 1\nmetadata: {name: a}\ndefaults: {traffic_class: 106}\n"
              "lossless_priority: 3\n");
  bench.config_.site_profile = bench.path("site.yaml");
  bench.start();
  ScriptedAgent agent(bench.agent("n1"));
  ASSERT_TRUE(welcome(agent));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  api::PreflightReport report;
  ASSERT_TRUE(bench.stub_->RunPreflight(&context, {}, &report).ok());
  ASSERT_THAT(report.checks(), SizeIs(1));
  EXPECT_EQ(report.checks(0).observed(), "synthetic: lossless 3, traffic class 106");
}

TEST_F(PreflightTest, ANodeThatSaysNothingIsNamedWithTheReason) {
  add("n1");
  add("mute", Script::kKeepSilent);
  const auto report = preflight();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_THAT(report->nodes(), SizeIs(2));
  EXPECT_EQ(report->nodes(0).node(), "mute");
  EXPECT_THAT(report->nodes(0).error(), HasSubstr("no answer within"));
  EXPECT_THAT(report->nodes(0).error(), HasSubstr("railgauge-agent --preflight"));
  EXPECT_EQ(report->nodes(1).error(), "");
}

TEST_F(PreflightTest, ANodeThatIsNoneIsWrongUse) {
  add("n1");
  const auto report = preflight("n7");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::kInvalidArgument);
}

TEST_F(PreflightTest, WithoutANodeItSaysHowToCheckOneHere) {
  const auto report = preflight();
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("--local"));
}

TEST_F(PreflightTest, ANodeThatFailsWhatTheSuiteRequiresLeavesTheRun) {
  for (const char* name : {"n1", "n2", "bad3", "bad4"}) add(name);
  bench_.write("gated.yaml",
               "version: 1\nmetadata: {name: gated}\npreflight: {require: [acs]}\nstages:\n  - "
               "kernel: fake.lat\n    placement: {pairs: all}\n");
  api::RunRequest request;
  request.mutable_suite()->set_name("gated");
  const auto start = [&](api::RunSummary& run) {
    grpc::ClientContext context;
    return bench_.stub_->StartRun(&context, request, &run);
  };
  api::RunSummary run;
  const grpc::Status started = start(run);
  ASSERT_TRUE(started.ok()) << started.error_message();
  EXPECT_EQ(run.tasks_total(), 1U) << "n1 with n2";
  request.set_node_set("n1,bad3");
  const grpc::Status alone = start(run);
  EXPECT_THAT(alone.error_message(), HasSubstr("at least 2 nodes"));
  EXPECT_THAT(alone.error_message(), HasSubstr("left out by preflight: bad3: "));
  request.set_node_set("bad3,bad4");
  const grpc::Status refused = start(run);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("bad3: "));
}

}  // namespace
}  // namespace railgauge
