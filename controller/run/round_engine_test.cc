#include "controller/run/round_engine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// An engine with its actions sorted by kind.
class Rounds {
 public:
  explicit Rounds(std::vector<RunTaskSpec> tasks, const RoundPolicy& policy = {},
                  const LeafUplinks& uplinks = {})
      : engine_(std::make_shared<const ListedTasks>(std::move(tasks)), policy, uplinks) {
    engine_.start(0);
    poll(0);
  }
  void poll(double now) {
    EngineActions out;
    engine_.poll(now, out);
    started_.clear();
    given_up_.clear();
    skipped_.clear();
    for (const EngineAction& action : out) {
      if (const auto* start = std::get_if<StartTask>(&action)) started_.push_back(start->index);
      if (const auto* late = std::get_if<GiveUpTask>(&action)) given_up_.push_back(late->index);
      if (const auto* skip = std::get_if<SkipTask>(&action)) skipped_.push_back(*skip);
    }
  }
  void end(std::size_t index, double now, bool retry = false) {
    engine_.ended(index, retry, now);
    poll(now);
  }

  RoundEngine engine_;
  std::vector<std::size_t> started_;
  std::vector<std::size_t> given_up_;
  std::vector<SkipTask> skipped_;
};

RunTaskSpec pair_of(std::uint32_t round, int a, int b, const std::string& leaf_a = "",
                    const std::string& leaf_b = "") {
  RunTaskSpec spec{.round = round};
  spec.endpoints = {fmt::format("n{}", a), fmt::format("n{}", b)};
  for (const std::string& leaf : {leaf_a, leaf_b})
    if (!leaf.empty() && (spec.leaves.empty() || spec.leaves[0] != leaf))
      spec.leaves.push_back(leaf);
  spec.nodes = 2;
  return spec;
}

RunTaskSpec load_of(RunTaskSpec spec, double bits_per_second) {
  spec.loads_fabric = true;
  spec.load_bits_per_second = bits_per_second;
  return spec;
}

TEST(RoundEngine, AHungPairOfAFewHoldsItsRoundNoLongerThanAStragglerMay) {
  Rounds rounds({pair_of(0, 1, 2), pair_of(0, 3, 4), pair_of(0, 5, 6), pair_of(1, 3, 4)});
  EXPECT_THAT(rounds.started_, ElementsAre(0, 1, 2));
  rounds.end(1, 5);
  rounds.poll(70);
  EXPECT_THAT(rounds.given_up_, IsEmpty()) << "two of three are no stragglers";
  rounds.end(2, 70);
  rounds.poll(74.9);
  EXPECT_THAT(rounds.given_up_, IsEmpty());
  rounds.poll(75);  // also its deadline
  EXPECT_THAT(rounds.given_up_, ElementsAre(0));
  EXPECT_THAT(rounds.started_, ElementsAre(3)) << "the next round does not wait for its end";
  Rounds two({pair_of(0, 1, 2), pair_of(0, 3, 4), pair_of(1, 3, 4)});
  two.end(1, 8);
  two.poll(12.9);
  EXPECT_THAT(two.given_up_, IsEmpty());
  two.poll(13);
  EXPECT_THAT(two.given_up_, ElementsAre(0)) << "5 s after the other had ended, not 60";
  EXPECT_THAT(two.started_, ElementsAre(2));
}

TEST(RoundEngine, NobodyIsAStragglerBeforeItsOwnTimeAndOneThatBeganLateHasAllOfIt) {
  RunTaskSpec longer = pair_of(0, 1, 2);
  longer.expected_seconds = 30;
  Rounds rounds({longer, pair_of(0, 3, 4), pair_of(1, 3, 4)});
  rounds.end(1, 5);
  rounds.poll(34.9);
  EXPECT_THAT(rounds.given_up_, IsEmpty());
  rounds.poll(35);
  EXPECT_THAT(rounds.given_up_, ElementsAre(0));
  RoundPolicy policy;
  policy.max_tasks = 1;
  Rounds one_by_one({pair_of(0, 1, 2), pair_of(0, 3, 4)}, policy);
  one_by_one.end(0, 20);
  EXPECT_THAT(one_by_one.started_, ElementsAre(1));
  one_by_one.poll(29.9);
  EXPECT_THAT(one_by_one.given_up_, IsEmpty());
  policy.quorum = 0.5;  // after 40 s, so that stragglers have 20 s
  Rounds last({pair_of(0, 1, 2), pair_of(0, 3, 4), pair_of(0, 5, 6), pair_of(0, 7, 8)}, policy);
  last.end(0, 20);
  last.end(1, 40);
  last.end(2, 50);
  EXPECT_THAT(last.started_, ElementsAre(3));
  last.poll(69.9);
  EXPECT_THAT(last.given_up_, IsEmpty()) << "from its own start";
  last.poll(70);
  EXPECT_THAT(last.given_up_, ElementsAre(3));
}

TEST(RoundEngine, ARoundOfOneTaskOrOfAQuorumOfAllWaitsUntilTheDeadline) {
  RoundPolicy all;
  all.quorum = 1;
  Rounds waits({pair_of(0, 1, 2), pair_of(0, 3, 4), pair_of(1, 3, 4)}, all);
  waits.end(1, 5);
  waits.poll(74);
  EXPECT_THAT(waits.given_up_, IsEmpty()) << "60 s are its deadline, and 15 s to say so";
  waits.poll(75);
  EXPECT_THAT(waits.given_up_, ElementsAre(0));
  Rounds one({pair_of(0, 1, 2), pair_of(1, 3, 4)});
  one.poll(74);
  EXPECT_THAT(one.given_up_, IsEmpty());
  one.poll(75);
  EXPECT_THAT(one.started_, ElementsAre(1));
}

TEST(RoundEngine, AQuorumClosesALargeRoundAndItsStragglersAreLeftOver) {
  std::vector<RunTaskSpec> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(pair_of(0, 2 * i, 2 * i + 1));
  tasks.push_back(pair_of(1, 10, 12));
  tasks.push_back(pair_of(1, 196, 14));  // one end still belongs to a straggler
  Rounds rounds(tasks);
  for (std::size_t i = 0; i < 98; ++i) rounds.end(i, 20);
  rounds.poll(29.9);
  EXPECT_THAT(rounds.given_up_, IsEmpty()) << "half as long again as the quorum took";
  rounds.poll(30);
  EXPECT_THAT(rounds.given_up_, ElementsAre(98, 99));
  EXPECT_THAT(rounds.started_, ElementsAre(100)) << "101 waits for an endpoint, not its round";
  rounds.end(100, 31);
  rounds.end(98, 32, true);
  EXPECT_THAT(rounds.started_, ElementsAre(98)) << "101 has an end in common with it";
  rounds.end(99, 33, false);
  rounds.end(98, 34);
  EXPECT_THAT(rounds.started_, ElementsAre(101));
}

TEST(RoundEngine, OneStragglerMoreThanTheQuorumAllowsHoldsTheRound) {
  std::vector<RunTaskSpec> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(pair_of(0, 2 * i, 2 * i + 1));
  Rounds rounds(tasks);
  for (std::size_t i = 0; i < 97; ++i) rounds.end(i, 20);
  rounds.poll(60);
  EXPECT_THAT(rounds.given_up_, IsEmpty());
}

TEST(RoundEngine, BetweenRoundsTheFabricSettles) {
  RoundPolicy policy;
  policy.settle_seconds = 3;
  Rounds rounds({pair_of(0, 1, 2), pair_of(1, 1, 2)}, policy);
  rounds.end(0, 10);
  EXPECT_THAT(rounds.started_, IsEmpty());
  rounds.poll(12.9);
  EXPECT_THAT(rounds.started_, IsEmpty());
  rounds.poll(13);
  EXPECT_THAT(rounds.started_, ElementsAre(1));
}

TEST(RoundEngine, CapsHoldInAllAndForEachLeaf) {
  RoundPolicy policy;
  policy.max_tasks = 3;
  policy.max_tasks_per_leaf = 2;
  Rounds rounds({pair_of(0, 1, 2, "a"), pair_of(0, 3, 4, "a"), pair_of(0, 5, 6, "a"),
                 pair_of(0, 7, 8, "b"), pair_of(0, 9, 10, "b")},
                policy);
  EXPECT_THAT(rounds.started_, ElementsAre(0, 1, 3)) << "two of leaf a, three in all";
  rounds.end(0, 1);
  EXPECT_THAT(rounds.started_, ElementsAre(2));
}

TEST(RoundEngine, BesideProductionOneBandwidthTaskALeafIsUnderWay) {
  Rounds rounds({pair_of(0, 9, 9), load_of(pair_of(1, 1, 2, "a"), 1e9),
                 load_of(pair_of(1, 3, 4, "a"), 1e9), load_of(pair_of(1, 5, 6, "b"), 1e9),
                 pair_of(1, 7, 8, "a")});
  rounds.engine_.set_busy("n20");
  rounds.end(0, 1);
  EXPECT_THAT(rounds.started_, ElementsAre(1, 3, 4)) << "latency loads nothing";
  rounds.end(1, 2);
  EXPECT_THAT(rounds.started_, ElementsAre(2));
}

TEST(RoundEngine, ExclusiveLiftsKindness) {
  RoundPolicy policy;
  policy.kindness.exclusive = true;
  Rounds rounds(
      {pair_of(0, 9, 9), load_of(pair_of(1, 1, 2, "a"), 1e9), load_of(pair_of(1, 3, 4, "a"), 1e9)},
      policy);
  rounds.engine_.set_busy("n20");
  rounds.end(0, 1);
  EXPECT_THAT(rounds.started_, ElementsAre(1, 2));
}

TEST(RoundEngine, CrossLeafLoadStaysWithinAShareOfTheUplinks) {
  RoundPolicy policy;
  policy.kindness.bandwidth_tasks_per_leaf = 9;
  const std::vector<RunTaskSpec> tasks{pair_of(0, 9, 9), load_of(pair_of(1, 1, 2, "a", "b"), 1e9),
                                       load_of(pair_of(1, 3, 4, "a", "b"), 1e9),
                                       load_of(pair_of(1, 5, 6, "b", "c"), 1e9),
                                       load_of(pair_of(1, 7, 8, "c", "d"), 1e9)};
  Rounds rounds(tasks, policy, {{"a", 40e9}, {"b", 40e9}, {"c", 20e9}});
  rounds.engine_.set_busy("n20");
  rounds.end(0, 1);
  EXPECT_THAT(rounds.started_, ElementsAre(1, 2))
      << "5 % of 40 Gb/s are two of them; leaf d's uplinks are not known";
  rounds.end(1, 2);
  EXPECT_THAT(rounds.started_, ElementsAre(3));
}

TEST(RoundEngine, WhatKindnessForbidsWaitsAtTheEndAndIsWaivedInTheLongRun) {
  RunTaskSpec collective = load_of(pair_of(0, 1, 2, "a"), 1e9);
  collective.nodes = 17;
  Rounds rounds({pair_of(0, 9, 9), collective, pair_of(1, 1, 2, "a")});
  EXPECT_THAT(rounds.started_, ElementsAre(0, 1)) << "nobody is busy yet";
  Rounds busy({pair_of(0, 9, 9),
               [&] {
                 collective.round = 1;
                 return collective;
               }(),
               pair_of(2, 1, 2, "a")});
  busy.engine_.set_busy("n20 runs a job");
  busy.end(0, 1);
  EXPECT_THAT(busy.started_, ElementsAre(2));
  busy.end(2, 2);
  EXPECT_EQ(busy.engine_.held_by(), "n20 runs a job");
  busy.engine_.set_busy("n20 runs a job; n21 too");  // no new period
  busy.poll(601);
  EXPECT_THAT(busy.skipped_, IsEmpty());
  busy.poll(602);
  ASSERT_EQ(busy.skipped_.size(), 1U);
  EXPECT_EQ(busy.skipped_[0].outcome, "waived");
  EXPECT_EQ(busy.skipped_[0].reason,
            "n20 runs a job; n21 too: a task over 17 nodes is not started beside production, 16 "
            "are allowed");
}

TEST(RoundEngine, WhatWasHeldBeginsWhenTheFabricIsFree) {
  RunTaskSpec collective = load_of(pair_of(1, 1, 2, "a"), 1e9);
  collective.nodes = 17;
  Rounds rounds({pair_of(0, 9, 9), collective});
  rounds.engine_.set_busy("n20");
  rounds.end(0, 1);
  EXPECT_THAT(rounds.started_, IsEmpty());
  rounds.engine_.set_busy("");
  rounds.poll(50);
  EXPECT_THAT(rounds.started_, ElementsAre(1));
}

TEST(RoundEngine, LeftoversOfTwoStagesDoNotRunTogether) {
  std::vector<RunTaskSpec> tasks{pair_of(0, 1, 2), pair_of(1, 3, 4)};
  tasks[1].stage = 1;
  Rounds rounds(tasks);
  rounds.end(0, 1, true);
  rounds.end(1, 2, true);
  EXPECT_THAT(rounds.started_, ElementsAre(0));
  rounds.end(0, 3);
  EXPECT_THAT(rounds.started_, ElementsAre(1));
}

TEST(RoundEngine, TasksOnLentNodesWaitUntilTheyAreBackAndTheOthersGoOn) {
  Rounds rounds({pair_of(0, 1, 2), pair_of(0, 3, 4), pair_of(1, 1, 3), pair_of(1, 2, 4)});
  rounds.engine_.lend({"n1", "n9"}, "run g", 1);
  EXPECT_THAT(rounds.engine_.under_way_on({"n1"}), ElementsAre(0));
  rounds.end(0, 1, true);
  EXPECT_FALSE(rounds.engine_.is_on("n1"));
  EXPECT_TRUE(rounds.engine_.is_on("n3"));
  rounds.end(1, 2);
  EXPECT_THAT(rounds.started_, ElementsAre(3)) << "the next round, without the lent node";
  rounds.end(3, 3);
  EXPECT_THAT(rounds.started_, IsEmpty());
  EXPECT_EQ(rounds.engine_.held_by(), "its nodes are lent to run g");
  rounds.poll(9'000);
  EXPECT_THAT(rounds.skipped_, IsEmpty()) << "lent nodes come back";
  rounds.engine_.take_back({"n1"}, 9'000);
  rounds.poll(9'000);
  EXPECT_THAT(rounds.started_, ElementsAre(0));
  rounds.end(0, 9'001);
  EXPECT_THAT(rounds.started_, ElementsAre(2));
}

TEST(RoundEngine, TheTimeOfALoanDoesNotCountInTheStagesBudget) {
  RoundPolicy policy;
  policy.stage_budget_seconds = {10};
  Rounds rounds({pair_of(0, 1, 2), pair_of(1, 1, 3), pair_of(1, 2, 4)}, policy);
  rounds.engine_.lend({"n3"}, "run g", 2);
  rounds.end(0, 4);
  EXPECT_THAT(rounds.started_, ElementsAre(2));
  rounds.end(2, 8);
  rounds.poll(100);
  EXPECT_THAT(rounds.skipped_, IsEmpty());
  rounds.engine_.take_back({"n3"}, 100);
  rounds.poll(107.9);
  EXPECT_THAT(rounds.started_, ElementsAre(1)) << "10 s from its start and 98 s away";
  Rounds late({pair_of(0, 1, 2), pair_of(1, 1, 3)}, policy);
  late.engine_.lend({"n3"}, "run g", 2);
  late.end(0, 4);
  late.engine_.take_back({"n3"}, 5);
  late.poll(13.1);
  EXPECT_EQ(late.skipped_.size(), 1U) << "10 s and 3 s";
}

}  // namespace
}  // namespace railgauge::run
