// A modelled agent without its stream: what it says to what it hears, and when.
// Synthetic.
#include "agent/fleet/agents/modelled_agent.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Nanoseconds kSecond = 1'000'000'000;

Scenario with(const std::string& lines) {
  auto read = read_scenario(
      "version: 1\nmetadata: {name: t}\nfabric: {nodes: 4, leaves: 2}\n" + lines, "t.yaml");
  EXPECT_TRUE(read) << read.error().message;
  return read ? *read : Scenario{};
}

// Two agents of one fabric, and the controller's side of their streams.
class ModelledAgents : public testing::Test {
 protected:
  void open(const std::string& lines) {
    fabric_ = std::make_unique<ModelledFabric>(with(lines));
    board_ = std::make_unique<TaskBoard>(*fabric_);
    for (std::uint32_t node = 0; node < 2; ++node)
      agents_.push_back(std::make_unique<ModelledAgent>(*board_, kernels_, node, 0));
  }
  // Lets time pass in steps of a tick; returns what the agent said in it.
  std::vector<api::AgentMessage> pass(std::uint32_t node, Nanoseconds until) {
    std::vector<api::AgentMessage> said;
    while (agents_[node]->next_tick() <= until) {
      now_ = std::max(now_, agents_[node]->next_tick());
      take(agents_[node]->tick(now_), said);
    }
    now_ = until;
    return said;
  }
  std::vector<api::AgentMessage> attach(std::uint32_t node) {
    api::Welcome welcome;
    welcome.set_heartbeat_seconds(2);
    std::vector<api::AgentMessage> said;
    take(agents_[node]->tick(now_), said);
    take(agents_[node]->attached(welcome, now_), said);
    return said;
  }
  std::vector<api::AgentMessage> hear(std::uint32_t node, const api::ControllerMessage& message) {
    std::vector<api::AgentMessage> said;
    take(agents_[node]->received(message, now_), said);
    return said;
  }
  void take(AgentOrders orders, std::vector<api::AgentMessage>& said) {
    for (api::AgentMessage& message : orders.send) said.push_back(std::move(message));
    dials_ += orders.dial ? 1 : 0;
    hang_ups_ += orders.hang_up ? 1 : 0;
  }

  static api::TaskRef task(std::uint32_t rank) {
    api::TaskRef ref;
    ref.set_run_id("r");
    ref.set_task_id("t");
    ref.set_attempt(1);
    ref.set_rank(rank);
    return ref;
  }
  static api::ControllerMessage prepare(std::uint32_t rank, bool forced = false) {
    api::ControllerMessage message;
    api::PrepareTask& prepare = *message.mutable_prepare();
    *prepare.mutable_task() = task(rank);
    prepare.set_kernel("verbs.write_bw");
    prepare.set_size(2);
    prepare.set_endpoint("mlx5_1:1");
    prepare.set_deadline_seconds(20);
    prepare.set_forced(forced);
    (*prepare.mutable_facts())["leaf"] = "L0";
    return message;
  }
  static api::ControllerMessage go(std::uint32_t rank) {
    api::ControllerMessage message;
    *message.mutable_go()->mutable_task() = task(rank);
    return message;
  }
  static api::ControllerMessage ack(std::uint64_t through) {
    api::ControllerMessage message;
    message.mutable_ack()->set_through_spool_id(through);
    return message;
  }

  const std::vector<KernelInfo> kernels_{[] {
    KernelInfo info;
    info.set_name("verbs.write_bw");
    info.set_revision(7);
    return info;
  }()};
  std::unique_ptr<ModelledFabric> fabric_;
  std::unique_ptr<TaskBoard> board_;
  std::vector<std::unique_ptr<ModelledAgent>> agents_;
  Nanoseconds now_ = 0;
  int dials_ = 0;
  int hang_ups_ = 0;
};

std::vector<Record> records(const std::vector<api::AgentMessage>& said) {
  std::vector<Record> out;
  for (const api::AgentMessage& message : said)
    for (const api::SpooledRecord& each : message.records().records()) out.push_back(each.record());
  return out;
}

std::size_t beats(const std::vector<api::AgentMessage>& said) {
  return static_cast<std::size_t>(std::ranges::count_if(
      said, [](const api::AgentMessage& message) { return message.has_heartbeat(); }));
}

TEST_F(ModelledAgents, DialsAtOnceAndBeatsAsTheWelcomeSays) {
  open("");
  EXPECT_EQ(beats(attach(0)), 1U);
  EXPECT_EQ(dials_, 1);
  EXPECT_EQ(beats(pass(0, 20 * kSecond)), 10U);
  EXPECT_EQ(hang_ups_, 0);
}

TEST_F(ModelledAgents, ATaskRunsOnceForAllItsRanksAndEndsOnEach) {
  open("");
  attach(0);
  attach(1);
  for (const std::uint32_t node : {0U, 1U}) {
    const auto said = hear(node, prepare(node));
    ASSERT_EQ(said.size(), 1U);
    EXPECT_TRUE(said[0].has_prepared());
  }
  const auto first = hear(0, go(0));
  const auto second = hear(1, go(1));
  const auto made = records(first);
  ASSERT_GE(made.size(), 3U);
  EXPECT_EQ(made.front().started().endpoint(), "mlx5_1:1");
  EXPECT_EQ(made.front().started().revision(), 7U);
  EXPECT_EQ(made.front().started().facts().at("leaf"), "L0");
  EXPECT_TRUE(made[1].point().synthetic());
  EXPECT_EQ(first.back().ended().outcome(), "passed");
  EXPECT_EQ(records(second).size(), 2U);
  EXPECT_EQ(second.back().ended().outcome(), "passed");
  EXPECT_EQ(board_->size(), 0U);
  EXPECT_EQ(agents_[0]->running(), 0U);
}

TEST_F(ModelledAgents, ARankElsewhereWaivesTheTask) {
  open("");
  attach(0);
  hear(0, prepare(0));
  const auto said = hear(0, go(0));
  EXPECT_EQ(said.back().ended().outcome(), "waived");
  EXPECT_THAT(said.back().ended().reason(), HasSubstr("1 of 2 ranks"));
}

// Records and answers go up again until they are acknowledged, with the ids
// that they had.
TEST_F(ModelledAgents, ANewStreamRepeatsWhatNobodyAcknowledged) {
  open("");
  attach(0);
  attach(1);
  hear(0, prepare(0));
  hear(1, prepare(1));
  const auto before = hear(0, go(0));
  hear(0, ack(1));
  agents_[0]->lost(false, now_);
  pass(0, kSecond);
  const auto again = attach(0);
  EXPECT_EQ(records(again).size(), records(before).size() - 1);
  EXPECT_EQ(records(again).back().SerializeAsString(), records(before).back().SerializeAsString());
  const auto ended = std::ranges::count_if(
      again, [](const api::AgentMessage& message) { return message.has_ended(); });
  EXPECT_EQ(ended, 1);
  hear(0, ack(agents_[0]->spool().last_id()));
  agents_[0]->lost(false, now_);
  pass(0, 3 * kSecond);
  EXPECT_THAT(records(attach(0)), IsEmpty());
}

TEST_F(ModelledAgents, ACancelledOrLateTaskEndsWithItsOutcome) {
  open("");
  attach(0);
  hear(0, prepare(0));
  api::ControllerMessage cancel;
  *cancel.mutable_cancel()->mutable_task() = task(0);
  cancel.mutable_cancel()->set_outcome("cancelled");
  cancel.mutable_cancel()->set_reason("the run ends");
  EXPECT_EQ(hear(0, cancel).back().ended().reason(), "the run ends");
  hear(0, prepare(0));
  const auto said = pass(0, 25 * kSecond);
  const auto ended = std::ranges::find_if(
      said, [](const api::AgentMessage& message) { return message.has_ended(); });
  ASSERT_NE(ended, said.end());
  EXPECT_EQ(ended->ended().outcome(), "timed_out");
}

TEST_F(ModelledAgents, ABusyNodeRefusesAndItsTasksYield) {
  open("jobs:\n  - {name: train, nodes: sim0001, begin: 10s, end: 20s}\n");
  attach(0);
  hear(0, prepare(0));
  const auto said = pass(0, 11 * kSecond);
  const auto yielded = std::ranges::find_if(
      said, [](const api::AgentMessage& message) { return message.has_ended(); });
  ASSERT_NE(yielded, said.end());
  EXPECT_THAT(yielded->ended().reason(), HasSubstr("node sim0001 is busy"));
  const auto refused = hear(0, prepare(1));
  EXPECT_EQ(refused.at(0).refusal().outcome(), "cancelled");
  EXPECT_TRUE(hear(0, prepare(0, true)).at(0).has_prepared());
  const auto later = pass(0, 21 * kSecond);
  EXPECT_EQ(later.back().heartbeat().busy().reasons_size(), 0);
}

TEST_F(ModelledAgents, ALostAgentHangsUpAndComesBack) {
  open("agents:\n  - {kind: lost, nodes: sim0001, begin: 10s, end: 30s}\n");
  attach(0);
  pass(0, 11 * kSecond);
  EXPECT_EQ(hang_ups_, 1);
  agents_[0]->lost(false, now_);
  pass(0, 29 * kSecond);
  EXPECT_EQ(dials_, 1);
  pass(0, 31 * kSecond);
  EXPECT_EQ(dials_, 2);
}

TEST_F(ModelledAgents, AWelcomeToAnAgentThatLeftIsNone) {
  open("agents:\n  - {kind: lost, nodes: sim0001, begin: 10s, end: 30s}\n");
  pass(0, 11 * kSecond);
  EXPECT_EQ(dials_, 1);
  agents_[0]->attached({}, now_);
  EXPECT_FALSE(agents_[0]->is_attached());
}

TEST_F(ModelledAgents, ARebootEndsItsTasksAsCrashed) {
  open("agents:\n  - {kind: rebooting, nodes: sim0001, begin: 10s, by: 5s}\n");
  attach(0);
  hear(0, prepare(0));
  const std::string before = agents_[0]->hello(now_).incarnation();
  pass(0, 12 * kSecond);
  agents_[0]->lost(false, now_);
  EXPECT_EQ(agents_[0]->running(), 0U);
  pass(0, 16 * kSecond);
  EXPECT_NE(agents_[0]->hello(now_).incarnation(), before);
  const auto said = attach(0);
  ASSERT_EQ(records(said).size(), 1U);
  EXPECT_EQ(records(said)[0].final().outcome(), "crashed");
}

TEST_F(ModelledAgents, AWedgedAgentSaysNothingAndStartsAnewOnAnotherStream) {
  open("agents:\n  - {kind: wedged, nodes: sim0001, begin: 10s, end: 30s}\n");
  attach(0);
  pass(0, 12 * kSecond);
  EXPECT_THAT(hear(0, prepare(0)), IsEmpty());
  EXPECT_EQ(beats(pass(0, 29 * kSecond)), 0U);
  EXPECT_EQ(hang_ups_, 0);
  pass(0, 31 * kSecond);
  EXPECT_EQ(hang_ups_, 1);
}

// The controller ends a stream that says nothing.
TEST_F(ModelledAgents, AWedgedAgentWithoutAStreamOpensNoneUntilItIsFree) {
  open("agents:\n  - {kind: wedged, nodes: sim0001, begin: 10s, end: 90s}\n");
  attach(0);
  pass(0, 12 * kSecond);
  const int before = dials_;
  agents_[0]->lost(false, now_);
  pass(0, 89 * kSecond);
  EXPECT_EQ(dials_, before);
  EXPECT_FALSE(agents_[0]->is_on_its_way()) << "a jump of the clock waits for nobody";
  pass(0, 120 * kSecond);
  EXPECT_EQ(dials_, before + 1);
}

TEST_F(ModelledAgents, ALateAgentAnswersAfterItsDelay) {
  open("agents:\n  - {kind: late, nodes: sim0001, by: 3s}\n");
  attach(0);
  pass(0, 10 * kSecond);
  EXPECT_THAT(hear(0, prepare(0)), IsEmpty());
  const auto prepared = [](const std::vector<api::AgentMessage>& said) {
    return std::ranges::count_if(
        said, [](const api::AgentMessage& message) { return message.has_prepared(); });
  };
  EXPECT_EQ(prepared(pass(0, 12 * kSecond)), 0);
  EXPECT_EQ(prepared(pass(0, 13 * kSecond)), 1);
}

TEST_F(ModelledAgents, AnotherStackIsToldByANewHello) {
  open("changes:\n  - {nodes: sim0001, begin: 10s, versions: {nccl: '9'}}\n");
  attach(0);
  EXPECT_NE(agents_[0]->hello(now_).stack_versions().at("nccl"), "9");
  pass(0, 11 * kSecond);
  EXPECT_EQ(hang_ups_, 1);
  EXPECT_EQ(agents_[0]->hello(now_).stack_versions().at("nccl"), "9");
  pass(0, 20 * kSecond);
  EXPECT_EQ(hang_ups_, 1);
}

TEST_F(ModelledAgents, ALossyPortIsAnEventOnce) {
  open(
      "faults:\n  - {kind: port, node: sim0001, nic: 2, loss: 0.01, begin: "
      "10s}\n");
  attach(0);
  std::vector<std::string> subjects;
  for (const api::AgentMessage& message : pass(0, 30 * kSecond))
    for (const api::NodeEvent& event : message.heartbeat().events()) {
      subjects.push_back(event.subject());
      EXPECT_THAT(event.text(), HasSubstr("synthetic"));
    }
  EXPECT_THAT(subjects, ElementsAre("mlx5_2:1"));
}

// 12 spells of ten minutes: a new hello, and an event, at their ends alone.
TEST_F(ModelledAgents, AFlappingLinkHangsUpAtTheEndsOfItsSpellsAlone) {
  open("faults:\n  - {kind: port, node: sim0001, nic: 0, takes: 1, hits: 0.5}\n");
  attach(0);
  int events = 0;
  for (const api::AgentMessage& message : pass(0, 7'200 * kSecond))
    events += message.heartbeat().events_size();
  EXPECT_GT(hang_ups_, 0);
  EXPECT_LE(hang_ups_, 11);
  EXPECT_LE(events, 11);
}

TEST_F(ModelledAgents, AnswersPreflightsWithTheirId) {
  open("");
  attach(0);
  api::ControllerMessage message;
  message.mutable_preflight()->set_request_id("42");
  const auto said = hear(0, message);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].preflight().request_id(), "42");
  EXPECT_GT(said[0].preflight().report().checks_size(), 10);
}

}  // namespace
}  // namespace railgauge::fleet
