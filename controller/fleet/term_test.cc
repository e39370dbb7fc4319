// A controller with generations among agents that have seen another one.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/server_bench.h"

namespace railgauge::fleet {
namespace {

using testing::HasSubstr;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

using Kind = api::ControllerMessage;

class TermTest : public testing::Test {
 protected:
  void start(std::uint64_t generation) {
    Term& term = bench_.fleet_options_.term;
    term.generation = generation;
    term.may_act = [this] { return may_act_.load(); };
    term.outranked = [this] { ++doubts_; };
    term.hold_acknowledgement = [this](const std::function<void()>& acknowledge) {
      ++committed_;
      acknowledge();
    };
    bench_.start();
  }
  testing_agent::AgentOptions agent_that_saw(std::uint64_t generation,
                                             const std::string& name = "n1") {
    auto options = bench_.agent(name);
    options.change_hello = [generation](api::Hello& hello) { hello.set_generation(generation); };
    return options;
  }

  std::atomic<bool> may_act_ = true;
  std::atomic<int> doubts_ = 0;
  std::atomic<int> committed_ = 0;  // batches of records
  ServerBench bench_;               // last: its server calls the above
};

TEST_F(TermTest, AnAgentThatSawAHigherGenerationIsRefusedAndSaysThatAnotherOneActs) {
  start(4);
  ScriptedAgent equal(agent_that_saw(4));
  ASSERT_TRUE(welcome(equal));
  EXPECT_EQ(doubts_, 0);
  ScriptedAgent later(agent_that_saw(5, "n2"));
  ASSERT_FALSE(welcome(later));
  ASSERT_TRUE(later.wait_until([](const ScriptedAgent& a) { return a.ended(); }));
  EXPECT_FALSE(later.refused().permanent());
  EXPECT_THAT(later.refused().reason(),
              HasSubstr("this controller has generation 4, the agent has seen 5"));
  EXPECT_EQ(doubts_, 1);
}

TEST_F(TermTest, TasksAndTheWelcomeCarryTheGeneration) {
  start(4);
  ScriptedAgent one(agent_that_saw(3));
  ScriptedAgent other(agent_that_saw(4, "n2"));
  ASSERT_TRUE(welcome(one) && welcome(other));
  grpc::ClientContext context;
  api::RunRequest request;
  request.mutable_suite()->set_name("pairs");
  api::RunSummary run;
  ASSERT_TRUE(bench_.stub_->StartRun(&context, request, &run).ok());
  EXPECT_EQ(bench_.end_of(run.run_id()).run().outcome(), "passed");
  one.cut();
  EXPECT_GT(one.count(Kind::kPrepare), 0u);
  EXPECT_GT(one.count(Kind::kGo), 0u);
  for (const api::ControllerMessage& message : one.received()) {
    if (message.has_welcome()) EXPECT_EQ(message.welcome().generation(), 4u);
    if (message.has_prepare()) EXPECT_EQ(message.prepare().generation(), 4u);
    if (message.has_go()) EXPECT_EQ(message.go().generation(), 4u);
  }
}

// Its records are stored here, and stay in the agent's spool for the controller that acts.
TEST_F(TermTest, WhoLostItsLeaseWelcomesNobodyAndAcknowledgesNothing) {
  start(4);
  ScriptedAgent agent(agent_that_saw(4));
  ASSERT_TRUE(welcome(agent));
  may_act_ = false;
  Record record;
  record.mutable_key()->set_run_id("r1");
  record.mutable_key()->set_task_id("t1");
  record.mutable_key()->set_attempt(1);
  record.mutable_started();
  agent.deliver(record);
  for (int look = 0; look < 2'000 && committed_ == 0; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(committed_, 1);
  ScriptedAgent late(agent_that_saw(4, "n2"));
  EXPECT_FALSE(welcome(late));
  ASSERT_TRUE(late.wait_until([](const ScriptedAgent& a) { return a.ended(); }));
  EXPECT_THAT(late.refused().reason(), HasSubstr("has lost its lease"));
  agent.cut();
  EXPECT_EQ(agent.acknowledged(), 0u);
}

}  // namespace
}  // namespace railgauge::fleet
