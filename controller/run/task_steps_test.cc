// The bytes that a rendezvous moves in a task with thousands of ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "controller/run/task_machine.h"

namespace railgauge::run {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kRanks = 4'096;
constexpr std::uint32_t kRanksOfANode = 8;
// No rank of a collective says more in a step: see nccl's rendezvous_test.
constexpr std::size_t kPayloadBytes = 512;

class Thousands : public testing::Test {
 protected:
  Thousands() {
    TaskSpec spec{.task_id = "t1", .deadline_seconds = 30};
    std::map<std::string, Presence> presence;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      spec.ranks.push_back({"n" + std::to_string(rank / kRanksOfANode), "gpu0"});
      presence[spec.ranks.back().node] = {Presence::State::kAttached, 0};
    }
    machine_ = std::make_unique<TaskMachine>(spec);
    TaskActions actions;
    machine_->start(presence, kNow, actions);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      machine_->prepared(machine_->attempt(), rank, kNow, actions);
  }
  // All say the same amount; what the machine does then.
  TaskActions all_say(std::size_t bytes, bool brief, std::uint32_t loudness) {
    TaskActions actions;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      GroupStep said;
      said.add_payloads(std::string(bytes, 'x'));
      said.set_brief(brief && rank != 0);
      said.set_loudness(loudness);
      machine_->step(machine_->attempt(), rank, std::move(said), kNow, actions);
    }
    return actions;
  }
  static constexpr double kNow = 100;
  std::unique_ptr<TaskMachine> machine_;
};

struct Sent {
  std::size_t answers = 0;
  std::size_t to_rank_zero = 0;
  std::size_t most_to_another = 0;
  std::size_t all = 0;
};
Sent sent(const TaskActions& actions) {
  Sent out;
  for (const TaskAction& action : actions) {
    const SendStep* step = std::get_if<SendStep>(&action);
    if (step == nullptr) continue;
    const std::size_t bytes = step->answer().ByteSizeLong();
    ++out.answers;
    out.all += bytes;
    if (step->rank == 0)
      out.to_rank_zero = bytes;
    else
      out.most_to_another = std::max(out.most_to_another, bytes);
  }
  return out;
}

TEST_F(Thousands, ABriefStepMovesAsMuchAsTheRanksSayAndNotItsSquare) {
  const Sent quiet = sent(all_say(kPayloadBytes, true, 0));
  EXPECT_EQ(quiet.answers, kRanks);
  EXPECT_GE(quiet.to_rank_zero, kRanks * kPayloadBytes);
  EXPECT_LE(quiet.to_rank_zero, kRanks * (kPayloadBytes + 8));
  EXPECT_LE(quiet.most_to_another, kPayloadBytes + 16);
  EXPECT_LE(quiet.all, (kPayloadBytes + 16) * kRanks * 2) << "4 MiB, where all to all is 8 GiB";
}

// The bound holds even if every rank has an error to report.
TEST_F(Thousands, ABriefStepOfLoudRanksIsBoundedToo) {
  const Sent loud = sent(all_say(kPayloadBytes, true, 2));
  EXPECT_LE(loud.most_to_another, (1 + kMostHeardAloud) * (kPayloadBytes + 8));
  EXPECT_LE(loud.all, (2 + kMostHeardAloud) * kRanks * (kPayloadBytes + 8));
}

// An answer is one message in the controller's memory, whoever gets it.
TEST_F(Thousands, AnAnswerIsMadeOnce) {
  const TaskActions actions = all_say(kPayloadBytes, true, 0);
  std::set<const void*> answers;
  for (const TaskAction& action : actions)
    if (const SendStep* step = std::get_if<SendStep>(&action)) answers.insert(step->answers.get());
  EXPECT_EQ(answers.size(), 1U);
}

// More than a runner's pipe takes would end its agent.
TEST_F(Thousands, WhatIsTooMuchForOneAnswerEndsTheTaskInWords) {
  const TaskActions actions = all_say(4'096, false, 0);
  EXPECT_EQ(sent(actions).answers, 0U);
  std::string reason;
  for (const TaskAction& action : actions)
    if (const SendCancel* cancel = std::get_if<SendCancel>(&action)) reason = cancel->reason;
  EXPECT_THAT(reason, HasSubstr("the payloads of 4096 ranks for rendezvous step 0 are 16789504 "
                                "bytes together, of which at most 8323072 can be handed round"));
}

}  // namespace
}  // namespace railgauge::run
