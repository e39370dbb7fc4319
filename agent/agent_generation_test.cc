// A controller that was deposed and does not know it, at a real agent.
#include <fstream>

#include <gmock/gmock.h>

#include "agent/testing/agent_fixture.h"

namespace railgauge::agent {
namespace {

using Answer = FakeController::Answer;

bool is_prepared(const Heard& heard, const std::string& task) {
  return std::ranges::any_of(heard, [&](const api::AgentMessage& message) {
    return message.prepared().task().task_id() == task;
  });
}

// One that takes over is a second server.
class AgentGenerationTest : public AgentTest {
 protected:
  void start_with_both() {
    controller_->set_generation(3);
    next_.set_generation(4);
    next_.set_answer(Answer::kRefuse);
    AgentOptions both = options();
    both.link.controller = target_ + "," + next_target_;
    start(both);
  }
  void next_takes_over() {
    controller_->set_answer(Answer::kRefuse);
    next_.set_answer(Answer::kWelcome);
    controller_->drop();
    ASSERT_TRUE(next_.until([](const Heard& heard) { return FakeController::hellos(heard) >= 1; }));
  }
  // Waits until the agent is attached: it beats on no other stream.
  void be_deposed_no_more(std::uint64_t generation) {
    const auto before = static_cast<std::ptrdiff_t>(controller_->heard().size());
    controller_->set_generation(generation);
    ASSERT_TRUE(until([&](const Heard& heard) {
      return std::any_of(heard.begin() + before, heard.end(),
                         [](const api::AgentMessage& message) { return message.has_heartbeat(); });
    }));
  }
  [[nodiscard]] std::string stored_generation() const {
    std::string text;
    std::ifstream(folder_ / "state/controller-generation") >> text;
    return text;
  }

  std::string next_target_ = "unix:" + folder_ / "next.sock";
  FakeController next_{next_target_};
};

TEST_F(AgentGenerationTest, ATaskOfAnOlderGenerationIsNotPreparedAndItsStreamEnds) {
  controller_->set_generation(5);
  start(options());
  prepare("t1", "");
  ASSERT_TRUE(until([](const Heard& heard) { return is_prepared(heard, "t1"); }));
  controller_->set_generation(4);
  ASSERT_TRUE(controller_->prepare("t2", ""));
  ASSERT_TRUE(until([](const Heard& heard) { return FakeController::hellos(heard) >= 2; }));
  be_deposed_no_more(5);
  prepare("t3", "");
  ASSERT_TRUE(until([](const Heard& heard) { return is_prepared(heard, "t3"); }));
  EXPECT_FALSE(is_prepared(controller_->heard(), "t2"));
}

TEST_F(AgentGenerationTest, APreparedTaskDoesNotBeginByAnOlderGeneration) {
  controller_->set_generation(5);
  start(options());
  prepare("t1", "");
  ASSERT_TRUE(until([](const Heard& heard) { return is_prepared(heard, "t1"); }));
  controller_->set_generation(4);
  ASSERT_TRUE(controller_->go("t1"));
  ASSERT_TRUE(until([](const Heard& heard) { return FakeController::hellos(heard) >= 2; }));
  EXPECT_FALSE(FakeController::has_final(controller_->heard(), "t1", "passed"));
  be_deposed_no_more(5);
  ASSERT_TRUE(controller_->go("t1"));
  EXPECT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "passed"); }));
}

// Neither dispatch, cancel nor acknowledgement of the older one has a stream to come by: its
// Welcome is refused, also after the agent was started anew.
TEST_F(AgentGenerationTest, AnOlderControllerGetsNoStreamAfterANewerOneWasSeen) {
  start_with_both();
  next_takes_over();
  send_once_attached([&] { return next_.prepare("t1", "two_steps"); });
  ASSERT_TRUE(next_.until([](const Heard& heard) { return is_prepared(heard, "t1"); }));
  EXPECT_EQ(stored_generation(), "4");
  next_.set_answer(Answer::kRefuse);
  controller_->set_answer(Answer::kWelcome);
  const std::size_t before = controller_->heard().size();
  const auto is_asked_often = [&](const Heard& heard) { return heard.size() >= before + 3; };
  next_.drop();
  ASSERT_TRUE(until(is_asked_often)) << "the agent looks for a controller again and again";
  // It sends into whatever stream it has for a moment.
  for (int i = 0; i < 50; ++i) {
    controller_->prepare("t2", "");
    controller_->acknowledge(1'000);
    ::usleep(2'000);
  }
  stop();
  const std::size_t restarted = controller_->heard().size();
  start(options());
  ASSERT_TRUE(until([&](const Heard& heard) { return heard.size() >= restarted + 2; }));
  const Heard heard = controller_->heard();
  for (std::size_t i = before; i < heard.size(); ++i) {
    ASSERT_TRUE(heard[i].has_hello()) << heard[i].ShortDebugString();
    EXPECT_EQ(heard[i].hello().generation(), 4u);
  }
}

// It was committed by a database that nobody reads any more.
TEST_F(AgentGenerationTest, WhatADeposedControllerAcknowledgedGoesToTheNextOne) {
  start_with_both();
  run_to_end("t1", "");
  ASSERT_TRUE(until([](const Heard& heard) {
    return heard.back().has_heartbeat() && heard.back().heartbeat().spool_records() == 0;
  })) << "all is acknowledged";
  const auto acknowledged = FakeController::records(controller_->heard());
  ASSERT_GT(acknowledged.size(), 1u);
  next_.set_stored_through(0);
  next_takes_over();
  ASSERT_TRUE(next_.until([&](const Heard& heard) {
    return FakeController::records(heard).size() == acknowledged.size();
  }));
  const auto again = FakeController::records(next_.heard());
  for (std::size_t i = 0; i < again.size(); ++i)
    EXPECT_EQ(again[i].SerializeAsString(), acknowledged[i].SerializeAsString());
}

}  // namespace
}  // namespace railgauge::agent
