#include "controller/run/run_machine.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::run {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::vector<std::size_t> started(const RunActions& actions) {
  std::vector<std::size_t> indices;
  for (const RunAction& action : actions)
    if (const auto* start = std::get_if<StartTask>(&action)) indices.push_back(start->index);
  return indices;
}

RunFinished finished(const RunActions& actions) {
  for (const RunAction& action : actions)
    if (const auto* end = std::get_if<RunFinished>(&action)) return *end;
  return {"none", ""};
}

TEST(RunMachine, RoundsFollowEachOtherAndTheTasksOfARoundRunTogether) {
  RunMachine machine({{.round = 1}, {.round = 0}, {.round = 1}});
  RunActions out;
  machine.start(0, out);
  EXPECT_THAT(started(out), ElementsAre(1));
  out.clear();
  machine.task_ended(1, {"passed", ""}, 0, out);
  EXPECT_THAT(started(out), ElementsAre(0, 2));
  out.clear();
  machine.task_ended(2, {"passed", ""}, 0, out);
  EXPECT_THAT(out, SizeIs(0));
  machine.task_ended(0, {"passed", ""}, 0, out);
  EXPECT_EQ(finished(out).outcome, "passed");
  EXPECT_EQ(machine.tasks_ended(), 3U);
}

TEST(RunMachine, TheWorstOutcomeIsTheRuns) {
  RunMachine machine({{.round = 0}, {.round = 0}, {.round = 0}});
  RunActions out;
  machine.start(0, out);
  machine.task_ended(0, {"crashed", "node n2 lost"}, 0, out);
  machine.task_ended(1, {"failed", "byte 7 is 0x00"}, 0, out);
  machine.task_ended(2, {"passed", ""}, 0, out);
  EXPECT_EQ(finished(out).outcome, "failed");
  EXPECT_EQ(finished(out).reason, "byte 7 is 0x00");
}

TEST(RunMachine, EqualReasonsAreToldOnce) {
  RunMachine machine({{.round = 0}, {.round = 0}, {.round = 0}});
  RunActions out;
  machine.start(0, out);
  machine.task_ended(0, {"crashed", "node n2 lost"}, 0, out);
  machine.task_ended(1, {"crashed", "node n2 lost"}, 0, out);
  machine.task_ended(2, {"timed_out", "late"}, 0, out);
  EXPECT_EQ(finished(out).outcome, "crashed");
  EXPECT_EQ(finished(out).reason, "node n2 lost (2 tasks)");
}

TEST(RunMachine, ReasonsThatDifferInNamesAndNumbersAreOne) {
  RunMachine machine({{.round = 0}, {.round = 0}, {.round = 0}, {.round = 0}, {.round = 0}});
  RunActions out;
  machine.start(0, out);
  for (std::size_t i = 0; i < 5; ++i)
    machine.task_ended(i, {"failed", fmt::format("rank 0 on n{}: byte {} is wrong", i, 7 * i)}, 0,
                       out);
  EXPECT_EQ(finished(out).reason, "rank 0 on n[0-4]: byte [0,7,14,21,28] is wrong (5 tasks)");
}

TEST(RunMachine, ReasonsBeyondThoseThatAreKeptCount) {
  constexpr std::size_t kFailures = 1'200;
  RunMachine machine(std::vector<RunTaskSpec>(kFailures, RunTaskSpec{.round = 0}));
  RunActions out;
  machine.start(0, out);
  for (std::size_t i = 0; i < kFailures; ++i)
    machine.task_ended(i, {"failed", fmt::format("byte {} is wrong", i)}, 0, out);
  EXPECT_THAT(finished(out).reason, testing::HasSubstr("(1000 tasks); and 200 tasks of more"));
}

TEST(RunMachine, AWaivedPlanCountsAndIsNeverStarted) {
  RunMachine machine({{.round = 0, .waived = true, .reason = "n1 has no NIC"}, {.round = 1}});
  RunActions out;
  machine.start(0, out);
  EXPECT_THAT(started(out), ElementsAre(1));
  machine.task_ended(1, {"passed", ""}, 0, out);
  EXPECT_EQ(finished(out).outcome, "passed");
  EXPECT_EQ(machine.outcomes().at("waived"), 1U);
}

TEST(RunMachine, ARunInWhichNothingCouldRunIsWaived) {
  RunMachine machine(
      std::vector<RunTaskSpec>{{.round = 0, .waived = true, .reason = "n1 has no NIC"}});
  RunActions out;
  machine.start(0, out);
  EXPECT_EQ(finished(out).outcome, "waived");
  EXPECT_EQ(finished(out).reason, "n1 has no NIC");
}

TEST(RunMachine, AnEmptyPlanNeverPasses) {
  RunMachine machine(std::vector<RunTaskSpec>{});
  RunActions out;
  machine.start(0, out);
  EXPECT_EQ(finished(out).outcome, "crashed");
}

TEST(RunMachine, ACancelStopsTheRestAndWaitsForWhatRuns) {
  RunMachine machine({{.round = 0}, {.round = 1}});
  RunActions out;
  machine.start(0, out);
  out.clear();
  machine.cancel("cancelled by ann", out);
  EXPECT_EQ(machine.state(), RunState::kCancelling);
  EXPECT_EQ(finished(out).outcome, "none");
  machine.task_ended(0, {"cancelled", "cancelled by ann"}, 0, out);
  EXPECT_EQ(finished(out).outcome, "cancelled");
  EXPECT_EQ(finished(out).reason, "cancelled by ann");
}

TEST(RunMachine, ACancelThatCouldNotBeVerifiedIsNotCalledCancelled) {
  RunMachine machine(std::vector<RunTaskSpec>{{.round = 0}});
  RunActions out;
  machine.start(0, out);
  machine.cancel("cancelled by ann", out);
  machine.task_ended(0, {"crashed", "rank 0 on n1 did not report an end"}, 0, out);
  EXPECT_EQ(finished(out).outcome, "crashed");
}

TEST(RunMachine, ACancelAfterATaskThatCouldNotBeVerifiedIsNotCalledCancelled) {
  for (const char* outcome : {"crashed", "timed_out"}) {
    RunMachine machine({{.round = 0}, {.round = 0}});
    RunActions out;
    machine.start(0, out);
    machine.task_ended(0, {.outcome = outcome, .reason = "no end told", .unverified = true}, 0,
                       out);
    machine.cancel("cancelled by ann", out);
    machine.task_ended(1, {"cancelled", "cancelled by ann"}, 0, out);
    EXPECT_EQ(finished(out).outcome, "crashed");
    EXPECT_EQ(finished(out).reason, "no end told");
  }
}

TEST(RunMachine, WithoutACancelAnUnverifiedTaskIsOneLikeOthers) {
  RunMachine machine({{.round = 0}, {.round = 0}});
  RunActions out;
  machine.start(0, out);
  machine.task_ended(0, {.outcome = "crashed", .reason = "no end told", .unverified = true}, 0,
                     out);
  machine.task_ended(1, {"failed", "byte 7 is 0x00"}, 0, out);
  EXPECT_EQ(finished(out).outcome, "failed");
}

TEST(RunMachine, ARunCancelledBeforeItsStartEndsAtOnce) {
  RunMachine machine(std::vector<RunTaskSpec>{{.round = 0}});
  RunActions out;
  machine.cancel("cancelled by ann", out);
  EXPECT_EQ(finished(out).outcome, "cancelled");
  EXPECT_THAT(started(out), SizeIs(0));
}

TEST(RunMachine, ATaskThatHungIsTriedAgainWhenAllRoundsAreThrough) {
  RunMachine machine({{.round = 0}, {.round = 1}});
  RunActions out;
  machine.start(0, out);
  out.clear();
  EXPECT_TRUE(machine.task_ended(0, {"timed_out", "hung", true}, 9, out));
  EXPECT_THAT(started(out), ElementsAre(1));
  EXPECT_EQ(machine.tasks_ended(), 0U);
  out.clear();
  EXPECT_FALSE(machine.task_ended(1, {"passed", ""}, 10, out));
  EXPECT_THAT(started(out), ElementsAre(0));
  EXPECT_FALSE(machine.task_ended(0, {"timed_out", "hung", true}, 19, out)) << "twice is enough";
  EXPECT_EQ(finished(out).outcome, "timed_out");
}

TEST(RunMachine, AStopBudgetEndsTheRunWithItsReasonAndIsNoCancel) {
  RoundPolicy policy;
  policy.stop.failures = 1;
  RunMachine machine({{.round = 0}, {.round = 1}, {.round = 2}}, policy);
  RunActions out;
  machine.start(0, out);
  machine.task_ended(0, {"failed", "byte 7 is 0x00"}, 1, out);
  EXPECT_EQ(finished(out).outcome, "none") << "one failure is allowed";
  machine.task_ended(1, {"failed", "byte 7 is 0x00"}, 2, out);
  EXPECT_EQ(finished(out).outcome, "failed");
  EXPECT_EQ(finished(out).reason,
            "stopped: 2 tasks failed, 1 are the most that the suite allows; byte 7 is 0x00 (2 "
            "tasks)");
  EXPECT_EQ(machine.outcomes().at("cancelled"), 1U);
}

TEST(RunMachine, TheFailedShareCountsOnceEnoughTasksHaveEnded) {
  RoundPolicy policy;
  policy.stop.failed_share = 0.1;
  policy.stop.share_after = 3;
  RunMachine machine({{.round = 0}, {.round = 1}, {.round = 2}, {.round = 3}}, policy);
  RunActions out;
  machine.start(0, out);
  machine.task_ended(0, {"failed", "a"}, 1, out);
  machine.task_ended(1, {"passed", ""}, 2, out);
  EXPECT_EQ(finished(out).outcome, "none");
  machine.task_ended(2, {"failed", "a"}, 3, out);
  EXPECT_EQ(finished(out).outcome, "failed");
}

TEST(RunMachine, AStageThatStopsOnFailureLeavesTheNextOneAlone) {
  RoundPolicy policy;
  policy.on_failure = {OnFailure::kStopStage};
  RunMachine machine({{.round = 0}, {.round = 1}, {.round = 2, .stage = 1}}, policy);
  RunActions out;
  machine.start(0, out);
  machine.task_ended(0, {"crashed", "signal 11"}, 1, out);
  EXPECT_THAT(started(out), ElementsAre(0, 2));
  machine.task_ended(2, {"passed", ""}, 2, out);
  EXPECT_EQ(finished(out).outcome, "crashed");
}

TEST(RunMachine, ASpentTimeBudgetWaivesTheRestOfItsStage) {
  RoundPolicy policy;
  policy.stage_budget_seconds = {10};
  RunMachine machine({{.round = 0}, {.round = 1}, {.round = 2, .stage = 1}}, policy);
  RunActions out;
  machine.start(0, out);
  machine.task_ended(0, {"passed", ""}, 11, out);
  EXPECT_THAT(started(out), ElementsAre(0, 2));
  EXPECT_EQ(machine.outcomes().at("waived"), 1U);
}

TEST(RunMachine, InAnyOrderItEndsOnceAndNeverPassesAnUnmeasuredRun) {
  std::mt19937 random(20261120);
  const std::vector<std::string> words{"passed",  "failed",    "waived",
                                       "crashed", "timed_out", "cancelled"};
  for (int round = 0; round < 2000; ++round) {
    std::vector<RunTaskSpec> specs(random() % 7);
    for (RunTaskSpec& spec : specs)
      spec = {.round = static_cast<std::uint32_t>(random() % 4),
              .waived = random() % 4 == 0,
              .reason = "w"};
    RunMachine machine(specs);
    RunActions out;
    std::vector<std::size_t> open;
    std::size_t seen = 0;
    int passes = 0;
    int ends = 0;
    const auto drain = [&] {
      for (; seen < out.size(); ++seen) {
        if (const auto* start = std::get_if<StartTask>(&out[seen])) {
          ASSERT_FALSE(specs[start->index].waived);
          for (const std::size_t other : open)
            ASSERT_EQ(specs[other].round, specs[start->index].round);
          open.push_back(start->index);
        }
        ends += std::holds_alternative<RunFinished>(out[seen]) ? 1 : 0;
      }
    };
    machine.start(0, out);
    drain();
    while (!open.empty()) {
      if (random() % 9 == 0) machine.cancel("stop", out);
      const std::size_t pick = random() % open.size();
      const std::size_t index = open[pick];
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(pick));
      const std::string& word = words[random() % words.size()];
      passes += word == "passed" ? 1 : 0;
      machine.task_ended(index, {word, "r"}, 0, out);
      drain();
    }
    ASSERT_EQ(ends, 1);
    ASSERT_EQ(machine.state(), RunState::kEnded);
    ASSERT_EQ(machine.tasks_ended(), specs.size());
    ASSERT_FALSE(passes == 0 && finished(out).outcome == "passed");
  }
}

RoundPolicy drilling() {
  RoundPolicy policy;
  policy.drill_down = true;
  return policy;
}

bool asks(const RunActions& actions) {
  return std::ranges::any_of(actions, [](const RunAction& action) {
    return std::holds_alternative<WantFollowUps>(action);
  });
}

TEST(RunMachineFollowUps, ARunThatDrillsDownAsksUntilNothingFollowsAndEndsThen) {
  RunMachine machine({{.round = 0, .endpoints = {"a"}}}, drilling());
  RunActions out;
  machine.start(0, out);
  machine.task_ended(0, {"passed", ""}, 0, out);
  EXPECT_TRUE(asks(out));
  EXPECT_EQ(finished(out).outcome, "none");
  out.clear();
  ASSERT_TRUE(machine.add_follow_ups({{.endpoints = {"a"}}, {.endpoints = {"b"}}}, 1, out));
  EXPECT_THAT(started(out), ElementsAre(1, 2));
  EXPECT_EQ(machine.tasks_total(), 3U);
  out.clear();
  machine.task_ended(1, {"failed", "slow"}, 2, out);
  EXPECT_FALSE(asks(out)) << "one is still under way";
  machine.task_ended(2, {"passed", ""}, 2, out);
  EXPECT_TRUE(asks(out));
  EXPECT_EQ(machine.outcome_of(1), "failed");
  out.clear();
  ASSERT_TRUE(machine.add_follow_ups({}, 3, out));
  EXPECT_EQ(finished(out).outcome, "failed");
  EXPECT_FALSE(machine.add_follow_ups({}, 3, out)) << "nothing was asked";
}

TEST(RunMachineFollowUps, ACancelledRunWaitsForNoAnswer) {
  RunMachine machine({{.round = 0}}, drilling());
  RunActions out;
  machine.start(0, out);
  machine.task_ended(0, {"passed", ""}, 0, out);
  ASSERT_TRUE(asks(out));
  out.clear();
  machine.cancel("enough", out);
  EXPECT_EQ(finished(out).outcome, "passed") << "all that was planned was measured";
  EXPECT_FALSE(machine.add_follow_ups({{.endpoints = {"a"}}}, 1, out));
}

TEST(RunMachineFollowUps, ARunThatStoppedByItselfAsksNothing) {
  RoundPolicy policy = drilling();
  policy.on_failure = {OnFailure::kStopRun};
  RunMachine machine({{.round = 0}, {.round = 1}}, policy);
  RunActions out;
  machine.start(0, out);
  machine.task_ended(0, {"failed", "slow"}, 0, out);
  EXPECT_FALSE(asks(out));
  EXPECT_EQ(finished(out).outcome, "failed");
}

TEST(RunMachine, AnInterruptedTaskIsMeasuredLaterAndItsStartDoesNotCount) {
  RoundPolicy policy;
  policy.max_attempts = 1;
  RunMachine machine({{.endpoints = {"n1/x"}}, {.endpoints = {"n2/x"}}}, policy);
  RunActions out;
  machine.start(0, out);
  out.clear();
  machine.lend({"n1"}, "run g", 1, out);
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_EQ(std::get<InterruptTask>(out[0]).index, 0U);
  EXPECT_EQ(std::get<InterruptTask>(out[0]).reason, "interrupted: its nodes are lent to run g");
  out.clear();
  EXPECT_TRUE(machine.task_ended(0, {.outcome = "cancelled", .interrupted = true}, 2, out));
  machine.task_ended(1, {"passed", ""}, 3, out);
  EXPECT_THAT(out, SizeIs(0)) << "the run does not end without the lent node";
  machine.take_back({"n1"}, 60, out);
  EXPECT_THAT(started(out), ElementsAre(0));
  machine.task_ended(0, {"passed", ""}, 61, out);
  EXPECT_EQ(finished(out).outcome, "passed");
}

TEST(RunMachine, ACancelEndsARunWhoseNodesAreLent) {
  RunMachine machine({{.endpoints = {"n1/x"}}, {.endpoints = {"n2/x"}}});
  RunActions out;
  machine.start(0, out);
  machine.lend({"n1"}, "run g", 1, out);
  machine.task_ended(0, {.outcome = "cancelled", .interrupted = true}, 2, out);
  machine.cancel("cancelled by me", out);
  machine.task_ended(1, {"cancelled", "cancelled by me"}, 3, out);
  EXPECT_EQ(finished(out).outcome, "cancelled");
}

}  // namespace
}  // namespace railgauge::run
