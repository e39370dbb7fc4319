// Messages that the agent repeats when a stream breaks right after it carried them.
#include <gmock/gmock.h>

#include "agent/testing/agent_fixture.h"

namespace railgauge::agent {
namespace {
class AgentResendTest : public AgentTest {};

TEST_F(AgentResendTest, PreparedIsSaidAgainWhenItsStreamDied) {
  start(options());
  controller_->drop_after(&api::AgentMessage::has_prepared);
  prepare("t1", "");
  ASSERT_TRUE(until(
      [](const Heard& heard) { return count(heard, &api::AgentMessage::has_prepared) == 2; }));
  EXPECT_EQ(FakeController::hellos(controller_->heard()), 2);
  send_once_attached([&] { return controller_->go("t1"); });
  EXPECT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "passed"); }));
}

TEST_F(AgentResendTest, AStepIsSaidAgainWhenItsStreamDied) {
  start(options());
  prepare("t1", "two_steps");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  controller_->drop_after(&api::AgentMessage::has_step);
  controller_->go("t1");
  ASSERT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "passed"); }));
  std::vector<std::uint32_t> steps;
  for (const auto& message : controller_->heard())
    if (message.has_step()) steps.push_back(message.step().step().step());
  EXPECT_THAT(steps, testing::ElementsAre(0, 0, 1));
  EXPECT_EQ(count(controller_->heard(), &api::AgentMessage::has_prepared), 1);
}

TEST_F(AgentResendTest, AnEndIsSaidAgainUntilItsRecordIsAcknowledged) {
  start(options());
  controller_->set_acknowledge(false);
  controller_->drop_after(&api::AgentMessage::has_ended);
  prepare("t1", "refuse");
  ASSERT_TRUE(
      until([](const Heard& heard) { return count(heard, &api::AgentMessage::has_ended) == 2; }));
  EXPECT_EQ(count(controller_->heard(), &api::AgentMessage::has_refusal), 2);
  send_once_attached([&] { return controller_->acknowledge(1); });
  ASSERT_TRUE(until([](const Heard& heard) {
    return heard.back().has_heartbeat() && heard.back().heartbeat().spool_records() == 0;
  }));
  controller_->drop();
  ASSERT_TRUE(until([](const Heard& heard) {  // answers go before the first heartbeat
    return FakeController::hellos(heard) == 3 && heard.back().has_heartbeat();
  }));
  EXPECT_EQ(count(controller_->heard(), &api::AgentMessage::has_ended), 2);
}

TEST_F(AgentResendTest, ARefusalWithoutARecordIsSaidAgainToo) {
  AgentOptions without = options();
  without.supervisor.task.runner = folder_ / "no-runner-\xff";
  start(without);
  controller_->drop_after(&api::AgentMessage::has_refusal);
  prepare("t1", "");
  ASSERT_TRUE(
      until([](const Heard& heard) { return count(heard, &api::AgentMessage::has_refusal) == 2; }));
  EXPECT_TRUE(refused_for("no-runner-?: start"));
}

TEST_F(AgentResendTest, ARestoredControllerGetsWhatItLacksAgain) {
  start(options());
  prepare("t1", "");
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  ASSERT_TRUE(controller_->go("t1") && until([](const Heard& heard) {
                return FakeController::has_final(heard, "t1", "passed") &&
                       heard.back().has_heartbeat() &&
                       heard.back().heartbeat().spool_records() == 0;
              }))
      << "all is acknowledged";
  const auto before = FakeController::records(controller_->heard());
  ASSERT_GT(before.size(), 1u);
  controller_->set_stored_through(1);
  controller_->drop();
  ASSERT_TRUE(until([&](const Heard& heard) {
    return FakeController::records(heard).size() == 2 * before.size() - 1;
  })) << "all behind the first";
  const auto after = FakeController::records(controller_->heard());
  for (std::size_t i = 1; i < before.size(); ++i)
    EXPECT_EQ(after[before.size() + i - 1].SerializeAsString(), before[i].SerializeAsString());
}

}  // namespace
}  // namespace railgauge::agent
