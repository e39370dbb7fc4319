// The agent on a node that becomes busy, with a real gRPC server as its controller and real
// runners.
#include <gmock/gmock.h>

#include <filesystem>

#include "agent/testing/agent_fixture.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

class BusyAgent : public AgentTest {
 protected:
  AgentOptions guarded() {
    AgentOptions given = options();
    given.busy.sources = "marker";
    given.busy.marker = folder_ / "busy";
    given.busy.look_seconds = 0.02;
    given.busy.look_seconds_running = 0.02;
    given.busy.settle_seconds = 0;
    given.supervisor.task.cancel_grace_seconds = 60;  // longer than a waiting job allows
    given.supervisor.task.term_grace_seconds = 60;
    return given;
  }
  static bool tells_busy(const api::AgentMessage& message) {
    return message.heartbeat().busy().reasons_size() > 0;
  }
  static bool tells_idle(const api::AgentMessage& message) {
    return message.heartbeat().has_busy() && message.heartbeat().busy().reasons().empty();
  }
  void start_task(const std::string& script, bool forced) {
    api::ControllerMessage message;
    api::PrepareTask& prepare = *message.mutable_prepare();
    *prepare.mutable_task() = FakeController::ref("t1");
    prepare.set_kernel("test.scripted");
    (*prepare.mutable_parameters())["script"] = script;
    prepare.set_size(1);
    prepare.set_deadline_seconds(30);
    prepare.set_forced(forced);
    send_once_attached([&] { return controller_->send(message); });
  }
  std::ptrdiff_t place(const std::function<bool(const api::AgentMessage&)>& met) {
    const Heard heard = controller_->heard();
    return std::ranges::find_if(heard, met) - heard.begin();
  }
};

TEST_F(BusyAgent, TellsItsStateWithHelloAndAtOnceWhenItChanges) {
  start(guarded());
  EXPECT_TRUE(controller_->heard()[0].hello().has_busy());
  EXPECT_TRUE(controller_->heard()[0].hello().busy().reasons().empty());
  ASSERT_TRUE(until([](const Heard& heard) { return std::ranges::any_of(heard, tells_idle); }));
  folder_.write("busy", "maintenance");
  ASSERT_TRUE(until([](const Heard& heard) { return std::ranges::any_of(heard, tells_busy); }));
  std::filesystem::remove(folder_ / "busy");
  EXPECT_TRUE(until([](const Heard& heard) { return tells_idle(heard.back()); }));
}

TEST_F(BusyAgent, ATaskThatDoesNotListenGivesWayAndTheStateIsToldBeforeItsEnd) {
  start(guarded());
  start_task("cancel_unheard", false);
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  folder_.write("busy", "a job");
  ASSERT_TRUE(until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_ended); }));
  const auto ended = place([](const api::AgentMessage& message) { return message.has_ended(); });
  EXPECT_LT(place(tells_busy), ended);
  const api::TaskEnded end = controller_->heard()[static_cast<std::size_t>(ended)].ended();
  EXPECT_EQ(end.outcome(), "cancelled");
  EXPECT_THAT(end.reason(), HasSubstr("node node-a is busy: marker: "));
}

TEST_F(BusyAgent, RefusesATaskWhileItIsBusy) {
  folder_.write("busy", "a job");
  start(guarded());
  start_task("", false);
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_refusal); }));
  const Heard heard = controller_->heard();
  const auto refusal = std::ranges::find_if(heard, &api::AgentMessage::has_refusal);
  EXPECT_EQ(refusal->refusal().outcome(), "cancelled");
  EXPECT_THAT(refusal->refusal().reason(), HasSubstr("is busy: marker: "));
}

TEST_F(BusyAgent, AForcedTaskRunsBesideTheJob) {
  folder_.write("busy", "a job");
  start(guarded());
  start_task("", true);
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  controller_->go("t1");
  EXPECT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "passed"); }));
}

}  // namespace
}  // namespace railgauge::agent
