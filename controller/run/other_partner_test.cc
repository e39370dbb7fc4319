#include "controller/run/other_partner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/run/run_machine.h"

namespace railgauge::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

PairEnd end(const std::string& node, const std::string& leaf = "", const std::string& kind = "") {
  return {.node = node, .name = node + "/x:1", .kind = kind, .leaf = leaf, .endpoints = {node}};
}

RunTaskSpec pair(PairEnd a, PairEnd b, std::uint32_t round = 0, std::uint32_t stage = 0) {
  RunTaskSpec spec{.round = round, .stage = stage, .endpoints = {a.node, b.node}, .nodes = 2};
  spec.ends = {std::move(a), std::move(b)};
  return spec;
}

// Rounds of four nodes: task 0 is a with b, task 1 c with d, and so on.
std::vector<RunTaskSpec> all_pairs_of_four() {
  return {pair(end("a"), end("b"), 0), pair(end("c"), end("d"), 0), pair(end("a"), end("c"), 1),
          pair(end("b"), end("d"), 1), pair(end("a"), end("d"), 2), pair(end("b"), end("c"), 2)};
}

TEST(PartnerBook, GivesEachEndOfAFailedPairAnotherKnownGoodPartner) {
  PartnerBook book(all_pairs_of_four());
  book.failed(0);
  for (const std::size_t task : {1U, 2U, 3U, 4U, 5U}) book.passed(task);
  const auto found = book.next();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(book.endpoints_of(found[0]), ElementsAre("a", "c"));
  EXPECT_THAT(book.endpoints_of(found[1]), ElementsAre("d", "b"));
  EXPECT_THAT(book.next(), IsEmpty()) << "asked once";
}

TEST(PartnerBook, AsksOnceForAnEndHoweverManyOfItsPairsFail) {
  PartnerBook book(all_pairs_of_four());
  for (const std::size_t task : {0U, 2U, 4U}) book.failed(task);  // a is dead
  for (const std::size_t task : {1U, 3U, 5U}) book.passed(task);
  std::vector<std::string> kept;
  for (const Elsewhere& one : book.next()) {
    kept.push_back(book.endpoints_of(one)[1 - one.replaced_rank]);
    EXPECT_NE(book.endpoints_of(one)[one.replaced_rank], "a") << "a is no partner";
  }
  EXPECT_THAT(kept, testing::UnorderedElementsAre("a", "b", "c", "d"));
}

TEST(PartnerBook, TakesAPartnerOfTheSameKindUnderTheSameLeafFirst) {
  PartnerBook book(std::vector{pair(end("a", "l1"), end("b", "l2", "gpu0")),
                               pair(end("c", "l1"), end("d", "l1", "gpu0")),
                               pair(end("e", "l2"), end("f", "l2", "gpu0"))});
  book.failed(0);
  book.passed(1);
  book.passed(2);
  const auto found = book.next();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(book.endpoints_of(found[0]), ElementsAre("a", "f"));
  EXPECT_THAT(book.endpoints_of(found[1]), ElementsAre("c", "b"));
  EXPECT_THAT(book.leaves_of(found[0]), ElementsAre("l1", "l2"));
}

TEST(PartnerBook, KnowsNobodyWhereNothingPassed) {
  PartnerBook book(all_pairs_of_four());
  for (std::size_t task = 0; task < 6; ++task) book.failed(task);
  EXPECT_THAT(book.next(), IsEmpty());
}

// 1,024 nodes of 8 rails under leaves of 32, of which every pair of the first round failed: the
// search runs on the controller's loop.
TEST(PartnerBook, LooksAtAFewPlacesForEachEndHoweverManyThereAre) {
  constexpr int kNodes = 1'024;
  constexpr int kRails = 8;
  std::vector<RunTaskSpec> tasks;
  for (const int distance : {1, 3, 5})
    for (int node = 0; node < kNodes; node += 2)
      for (int rail = 0; rail < kRails; ++rail) {
        const auto port = [&](int of) {
          PairEnd one =
              end(fmt::format("n{}", of), fmt::format("l{}", of / 32), fmt::format("{}", rail));
          one.name += fmt::format(" {}", rail);
          return one;
        };
        tasks.push_back(pair(port(node), port((node + distance) % kNodes)));
      }
  PartnerBook book(tasks);
  constexpr std::size_t kFailed = std::size_t{kNodes} / 2 * kRails;
  for (std::size_t task = 0; task < tasks.size(); ++task)
    task < kFailed ? book.failed(task) : book.passed(task);
  EXPECT_THAT(book.next(), SizeIs(kNodes * kRails));
  EXPECT_LE(book.looked_at(), 4u * kNodes * kRails);
}

TEST(PartnerBook, WantsNothingMoreOnceClosed) {
  PartnerBook book(all_pairs_of_four());
  book.failed(0);
  for (const std::size_t task : {1U, 2U, 3U, 4U, 5U}) book.passed(task);
  book.close(0U);
  EXPECT_THAT(book.next(), IsEmpty());
}

struct Player {
  explicit Player(std::vector<RunTaskSpec> tasks, RoundPolicy policy)
      : machine(std::move(tasks), std::move(policy)) {
    machine.start(0, actions);
  }
  // Ends what was started, in order, by `outcome_of`; until the run ends.
  template <class OutcomeOf>
  void play(OutcomeOf outcome_of) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const RunAction action = actions[i];
      if (const auto* one = std::get_if<AddTask>(&action)) added.push_back(*one);
      if (const auto* finished = std::get_if<RunFinished>(&action)) outcome = finished->outcome;
      const auto* start = std::get_if<StartTask>(&action);
      if (start == nullptr) continue;
      started.push_back(start->index);
      const std::string word = outcome_of(start->index);
      machine.task_ended(start->index, {word, "r", word == "timed_out"}, 1, actions);
    }
  }
  RunMachine machine;
  RunActions actions;
  std::vector<AddTask> added;
  std::vector<std::size_t> started;
  std::string outcome;
};

TEST(RunMachineElsewhere, AHungPairIsTriedAgainAndThenItsEndsAgainstOthersAfterTheLastRound) {
  RoundPolicy policy;
  policy.max_attempts = 2;
  Player player(all_pairs_of_four(), policy);
  player.play([](std::size_t index) { return index == 0 ? "timed_out" : "passed"; });
  EXPECT_THAT(player.started, ElementsAre(0, 1, 2, 3, 4, 5, 0, 6, 7));
  ASSERT_THAT(player.added, SizeIs(2));
  EXPECT_EQ(player.added[0].made_of.failed, 0u);
  EXPECT_EQ(player.outcome, "timed_out") << "what is missing stays missing";
  EXPECT_EQ(player.machine.tasks_total(), 8u);
}

TEST(RunMachineElsewhere, AnAddedTaskThatFailsAsksForNoOther) {
  Player player(all_pairs_of_four(), {});
  player.play([](std::size_t index) { return index == 0 || index >= 6 ? "failed" : "passed"; });
  EXPECT_THAT(player.added, SizeIs(2));
  EXPECT_EQ(player.outcome, "failed");
}

TEST(RunMachineElsewhere, ARunThatStoppedAddsNothing) {
  RoundPolicy policy;
  policy.on_failure = {OnFailure::kStopRun};
  Player player(all_pairs_of_four(), policy);
  player.play([](std::size_t index) { return index == 0 ? "failed" : "passed"; });
  EXPECT_THAT(player.added, IsEmpty());
}

}  // namespace
}  // namespace railgauge::run
