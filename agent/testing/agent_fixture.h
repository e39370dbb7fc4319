// A fixture with an agent on a thread of the test: a real gRPC server as its controller, real
// runner processes and a real spool.
#pragma once

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "agent/agent.h"
#include "agent/testing/fake_controller.h"
#include "agent/testing/temp_dir.h"

namespace railgauge::agent {

using Heard = FakeController::Heard;

inline bool any(const Heard& heard, bool (api::AgentMessage::*has)() const) {
  return std::ranges::any_of(heard, has);
}

inline std::ptrdiff_t count(const Heard& heard, bool (api::AgentMessage::*has)() const) {
  return std::ranges::count_if(heard, has);
}

class AgentTest : public testing::Test {
 protected:
  TempDir folder_;
  std::string target_ = "unix:" + folder_ / "controller.sock";
  std::unique_ptr<FakeController> controller_ = std::make_unique<FakeController>(target_);
  Metrics metrics_;
  Fd stop_;
  std::unique_ptr<Agent> agent_;
  std::thread loop_;

  ~AgentTest() override { stop(); }
  static void SetUpTestSuite() { ::signal(SIGPIPE, SIG_IGN); }

  AgentOptions options() const {
    AgentOptions options;
    options.name = "node-a";
    options.state_dir = folder_ / "state";
    options.sysfs_root = folder_ / "sys";
    options.proc_root = folder_ / "proc";
    options.link.controller = target_;
    options.link.backoff = {.first_seconds = 0.01, .most_seconds = 0.05, .refused_seconds = 600};
    options.supervisor.task.runner = SCRIPTED_RUNNER;
    options.supervisor.task.confinement.keeper = KEEPER;
    options.supervisor.task.cancel_grace_seconds = 0.1;
    options.supervisor.task.term_grace_seconds = 0.2;
    return options;
  }
  void start(AgentOptions options) {
    auto agent = Agent::open(std::move(options), metrics_);
    ASSERT_TRUE(agent) << agent.error().message;
    agent_ = std::move(*agent);
    stop_.reset(::eventfd(0, EFD_CLOEXEC));
    loop_ = std::thread([this] { agent_->run(stop_.get()); });
    ASSERT_TRUE(until([](const Heard& heard) { return FakeController::hellos(heard) >= 1; }));
  }
  void stop() {
    if (!loop_.joinable()) return;
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(stop_.get(), &one, sizeof(one)), 8);
    loop_.join();
    agent_.reset();
  }
  bool until(const std::function<bool(const Heard&)>& met) { return controller_->until(met); }
  // Repeats `send` for up to 10 s until it returns true: on the controller's side the stream is
  // attached some time after the Hello was heard.
  void send_once_attached(const std::function<bool()>& send) {
    for (int i = 0; i < 2000 && !send(); ++i) ::usleep(5000);
  }
  void prepare(const std::string& task, const std::string& script) {
    send_once_attached([&] { return controller_->prepare(task, script); });
  }
  bool refused_for(const std::string& words) {
    return std::ranges::any_of(controller_->heard(), [&](const api::AgentMessage& message) {
      return message.refusal().reason().find(words) != std::string::npos;
    });
  }
  // The reason of the task's end; "": none, or it has not ended.
  std::string reason_of(const std::string& task) {
    for (const api::AgentMessage& message : controller_->heard())
      if (message.has_ended() && message.ended().task().task_id() == task)
        return message.ended().reason();
    return "";
  }
  void run_to_end(const std::string& task, const std::string& script) {
    prepare(task, script);
    ASSERT_TRUE(
        until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
    controller_->go(task);
    ASSERT_TRUE(
        until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_ended); }));
  }
};

}  // namespace railgauge::agent
