#include "controller/run/task_machine.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::run {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const std::vector<std::string> kNodes{"n0", "n1", "n2"};

TaskSpec three_ranks() {
  return {.task_id = "t1",
          .ranks = {{"n0", "rxe0:1"}, {"n1", "rxe0:1"}, {"n2", "rxe0:1"}},
          .deadline_seconds = 30};
}

GroupStep said(std::uint32_t step, std::string payload) {
  GroupStep out;
  out.set_step(step);
  out.add_payloads(std::move(payload));
  return out;
}

// A machine with its actions gathered; time moves only by the test.
struct Bench {
  TaskMachine machine{three_ranks()};
  TaskActions actions;
  double now = 100;

  Bench() {
    std::map<std::string, Presence> presence;
    for (const std::string& node : kNodes) presence[node] = {Presence::State::kAttached, 0};
    machine.start(presence, now, actions);
  }
  template <class T>
  std::vector<T> take() {
    std::vector<T> found;
    for (const TaskAction& action : actions)
      if (const T* one = std::get_if<T>(&action)) found.push_back(*one);
    return found;
  }
  void all_prepared() {
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      machine.prepared(machine.attempt(), rank, now, actions);
  }
  void all_pass() {
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      machine.stored(machine.attempt(), rank, rank == 0 ? 1 : 0, RankEnd{"passed", ""}, now,
                     actions);
      machine.ended(machine.attempt(), rank, "passed", "", now, actions);
    }
  }
  TaskFinished finished() {
    const auto all = take<TaskFinished>();
    EXPECT_THAT(all, SizeIs(1));
    return all.empty() ? TaskFinished{"none", ""} : all.front();
  }
};

TEST(TaskMachine, ThreeRanksArePreparedThenAllGoThenPass) {
  Bench bench;
  EXPECT_THAT(bench.take<SendPrepare>(), SizeIs(3));
  bench.machine.prepared(1, 0, bench.now, bench.actions);
  bench.machine.prepared(1, 1, bench.now, bench.actions);
  EXPECT_THAT(bench.take<SendGo>(), SizeIs(0));
  bench.machine.prepared(1, 2, bench.now, bench.actions);
  EXPECT_THAT(bench.take<SendGo>(), SizeIs(3));
  bench.all_pass();
  EXPECT_EQ(bench.finished().outcome, "passed");
  EXPECT_THAT(bench.take<SendCancel>(), SizeIs(0));
}

TEST(TaskMachine, AStepIsAnsweredToAllWhenAllHaveSentIt) {
  Bench bench;
  bench.all_prepared();
  bench.machine.step(1, 2, said(0, "c"), bench.now, bench.actions);
  bench.machine.step(1, 0, said(0, "a"), bench.now, bench.actions);
  EXPECT_THAT(bench.take<SendStep>(), SizeIs(0));
  bench.machine.step(1, 1, said(0, "b"), bench.now, bench.actions);
  const auto steps = bench.take<SendStep>();
  ASSERT_THAT(steps, SizeIs(3));
  for (const SendStep& step : steps)
    EXPECT_THAT(step.answer().payloads(), testing::ElementsAre("a", "b", "c"));
}

TEST(TaskMachine, AStepSentAgainAfterAReconnectIsAnsweredToThatRankAlone) {
  Bench bench;
  bench.all_prepared();
  bench.machine.node_detached("n1", bench.now, bench.actions);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    bench.machine.step(1, rank, said(0, std::string(1, static_cast<char>('a' + rank))), bench.now,
                       bench.actions);
  EXPECT_THAT(bench.take<SendStep>(), SizeIs(2));  // n1 is away
  bench.actions.clear();
  bench.machine.node_resumed("n1", {1}, bench.now, bench.actions);
  EXPECT_THAT(bench.take<SendGo>(), SizeIs(1));
  bench.machine.step(1, 1, said(0, "b"), bench.now, bench.actions);
  const auto steps = bench.take<SendStep>();
  ASSERT_THAT(steps, SizeIs(1));
  EXPECT_EQ(steps[0].rank, 1U);
  EXPECT_THAT(steps[0].answer().payloads(), testing::ElementsAre("a", "b", "c"));
}

TEST(TaskMachine, AStepOutOfOrderEndsAllAndNamesTheRank) {
  Bench bench;
  bench.all_prepared();
  bench.machine.step(1, 1, said(4, "x"), bench.now, bench.actions);
  EXPECT_THAT(bench.take<SendCancel>(), SizeIs(3));
  EXPECT_THAT(bench.take<SendCancel>()[0].reason, HasSubstr("rank 1 on n1 sent rendezvous step 4"));
}

TEST(TaskMachine, ARankThatWaitsInVainEndsAllAndTheRankThatDidNotComeIsNamed) {
  Bench bench;
  bench.all_prepared();
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    bench.machine.step(1, rank, said(0, "well"), bench.now, bench.actions);
  bench.machine.step(1, 0, said(1, "waited"), bench.now, bench.actions);
  bench.machine.step(1, 1, said(1, "waited"), bench.now, bench.actions);
  bench.machine.ended(1, 0, "timed_out", "agent sent no rendezvous step", bench.now, bench.actions);
  EXPECT_THAT(bench.take<SendCancel>()[0].reason,
              testing::EndsWith(": agent sent no rendezvous step; rank 2 on n2 has not come to "
                                "rendezvous step 1"));
}

// If ranks report their places, the outcome names the place of a rank that was lost or is late.
TEST(TaskMachine, WhereALostRankWasLastIsTold) {
  const auto step_at = [](std::uint32_t step, const char* place) {
    GroupStep out = said(step, "well");
    out.set_at(place);
    return out;
  };
  Bench bench;
  bench.all_prepared();
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    bench.machine.step(1, rank, step_at(0, "sampling 8 B"), bench.now, bench.actions);
  bench.machine.step(1, 0, step_at(1, "sampling 8 B"), bench.now, bench.actions);
  bench.machine.step(1, 1, step_at(1, "sampling 8 B"), bench.now, bench.actions);
  Bench other = bench;
  bench.machine.ended(1, 0, "timed_out", "in vain (this is rank 0, at: sampling 8 B)", bench.now,
                      bench.actions);
  EXPECT_EQ(bench.take<SendCancel>()[0].reason,
            "rank 0 on n0: in vain (this is rank 0, at: sampling 8 B); rank 2 on n2 (last at: "
            "sampling 8 B) has not come to rendezvous step 1");
  other.machine.ended(1, 2, "crashed", "killed by SIGSEGV", other.now, other.actions);
  EXPECT_EQ(other.take<SendCancel>()[0].reason,
            "rank 2 on n2 (last at: sampling 8 B): killed by SIGSEGV");
}

TEST(TaskMachine, AWaivedRefusalWaivesTheTaskAndCancelsTheRest) {
  Bench bench;
  bench.machine.prepared(1, 0, bench.now, bench.actions);
  bench.machine.refused(1, 1, "waived", "no device mlx5_9", bench.now, bench.actions);
  const auto cancels = bench.take<SendCancel>();
  ASSERT_THAT(cancels, SizeIs(2));
  EXPECT_EQ(cancels[0].outcome, "cancelled");
  EXPECT_THAT(cancels[0].reason, HasSubstr("rank 1 on n1: no device mlx5_9"));
  bench.machine.ended(1, 0, "cancelled", cancels[0].reason, bench.now, bench.actions);
  bench.machine.ended(1, 2, "cancelled", cancels[0].reason, bench.now, bench.actions);
  for (const std::uint32_t rank : {0U, 2U})
    bench.machine.stored(1, rank, 0, RankEnd{"cancelled", ""}, bench.now, bench.actions);
  EXPECT_EQ(bench.finished().outcome, "waived");
  EXPECT_THAT(bench.finished().reason, HasSubstr("no device mlx5_9"));
  EXPECT_THAT(bench.take<SendGo>(), SizeIs(0));
}

TEST(TaskMachine, ALostNodeEndsTheAttemptAndIsNamedWhenItStaysAway) {
  Bench bench;
  bench.all_prepared();
  bench.machine.node_detached("n2", bench.now, bench.actions);
  EXPECT_THAT(bench.take<SendCancel>(), SizeIs(0));  // it may come back
  bench.machine.node_lost("n2", bench.now, bench.actions);
  const auto cancels = bench.take<SendCancel>();
  ASSERT_THAT(cancels, SizeIs(2));
  EXPECT_EQ(cancels[0].outcome, "crashed");
  EXPECT_EQ(cancels[0].reason, "node n2 lost");
  for (const std::uint32_t rank : {0U, 1U}) {
    bench.machine.ended(1, rank, "crashed", "node n2 lost", bench.now, bench.actions);
    bench.machine.stored(1, rank, 0, RankEnd{"crashed", "node n2 lost"}, bench.now, bench.actions);
  }
  ASSERT_THAT(bench.take<AttemptEnded>(), SizeIs(1));
  EXPECT_TRUE(bench.take<AttemptEnded>()[0].requeued);
  EXPECT_THAT(bench.take<TaskFinished>(), SizeIs(0));
  bench.now += TaskMachine::kReturnSeconds + 1;
  bench.machine.tick(bench.now, bench.actions);
  EXPECT_EQ(bench.finished().outcome, "crashed");
  EXPECT_EQ(bench.finished().reason, "node n2 lost");
  EXPECT_THAT(bench.take<AttemptStarted>(), SizeIs(1));
}

TEST(TaskMachine, ANodeThatReturnsInTimeGetsOneNewAttemptThatCounts) {
  Bench bench;
  bench.machine.node_lost("n2", bench.now, bench.actions);
  for (const std::uint32_t rank : {0U, 1U}) {
    bench.machine.ended(1, rank, "crashed", "node n2 lost", bench.now, bench.actions);
    bench.machine.stored(1, rank, 0, RankEnd{"crashed", ""}, bench.now, bench.actions);
  }
  bench.now += 5;
  bench.machine.node_attached("n2", bench.now, bench.actions);
  EXPECT_EQ(bench.machine.attempt(), 2U);
  bench.machine.ended(1, 0, "passed", "", bench.now, bench.actions);  // late, of attempt 1
  bench.all_prepared();
  bench.all_pass();
  EXPECT_EQ(bench.finished().outcome, "passed");
  const auto attempts = bench.take<AttemptEnded>();
  ASSERT_THAT(attempts, SizeIs(2));
  EXPECT_EQ(attempts[0].outcome, "crashed");
  EXPECT_EQ(attempts[1].outcome, "passed");
}

TEST(TaskMachine, ASecondLossIsFinal) {
  Bench bench;
  for (int loss = 0; loss < 2; ++loss) {
    for (const std::string& node : kNodes) bench.machine.node_lost(node, bench.now, bench.actions);
    for (const std::string& node : kNodes)
      bench.machine.node_attached(node, bench.now, bench.actions);
  }
  EXPECT_EQ(bench.finished().outcome, "crashed");
  EXPECT_THAT(bench.finished().reason, HasSubstr("node n0 lost"));
  EXPECT_THAT(bench.take<AttemptEnded>(), SizeIs(2));
}

TEST(TaskMachine, ANewIncarnationOfADetachedNodeIsALoss) {
  Bench bench;
  bench.machine.node_detached("n1", bench.now, bench.actions);
  bench.machine.node_attached("n1", bench.now, bench.actions);
  ASSERT_THAT(bench.take<SendCancel>(), SizeIs(2));
  EXPECT_EQ(bench.take<SendCancel>()[0].reason, "node n1 lost");
}

TEST(TaskMachine, TheDeadlineEndsAllAsTimedOut) {
  Bench bench;
  bench.all_prepared();
  bench.now += 30 + TaskMachine::kDeadlineGraceSeconds;
  bench.machine.tick(bench.now, bench.actions);
  const auto cancels = bench.take<SendCancel>();
  ASSERT_THAT(cancels, SizeIs(3));
  EXPECT_EQ(cancels[0].outcome, "timed_out");
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    bench.machine.ended(1, rank, "timed_out", cancels[0].reason, bench.now, bench.actions);
    bench.machine.stored(1, rank, 0, RankEnd{"timed_out", ""}, bench.now, bench.actions);
  }
  EXPECT_EQ(bench.finished().outcome, "timed_out");
}

TEST(TaskMachine, ACrashedRankIsNamedAndItsPartnersEchoIsNot) {
  Bench bench;
  bench.all_prepared();
  bench.machine.ended(1, 1, "crashed", "killed by signal 9", bench.now, bench.actions);
  const auto cancels = bench.take<SendCancel>();
  ASSERT_THAT(cancels, SizeIs(2));
  for (const std::uint32_t rank : {0U, 2U})
    bench.machine.ended(1, rank, "crashed", cancels[0].reason, bench.now, bench.actions);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    bench.machine.stored(1, rank, 0, RankEnd{"crashed", ""}, bench.now, bench.actions);
  EXPECT_EQ(bench.finished().outcome, "crashed");
  EXPECT_EQ(bench.finished().reason, "rank 1 on n1: killed by signal 9");
}

TEST(TaskMachine, WrongDataOutweighsACrash) {
  Bench bench;
  bench.all_prepared();
  bench.machine.ended(1, 1, "crashed", "peer is gone", bench.now, bench.actions);
  bench.machine.ended(1, 0, "failed", "byte 7 is 0x00", bench.now, bench.actions);
  bench.machine.ended(1, 2, "passed", "", bench.now, bench.actions);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    bench.machine.stored(1, rank, 1, RankEnd{"passed", ""}, bench.now, bench.actions);
  EXPECT_EQ(bench.finished().outcome, "failed");
}

TEST(TaskMachine, ACancelIsCancelledOnlyWhenEveryRunnerHasEnded) {
  Bench bench;
  bench.all_prepared();
  bench.machine.cancel("cancelled by ann", bench.now, bench.actions);
  for (const std::uint32_t rank : {0U, 1U}) {
    bench.machine.ended(1, rank, "cancelled", "", bench.now, bench.actions);
    bench.machine.stored(1, rank, 0, RankEnd{"cancelled", ""}, bench.now, bench.actions);
  }
  EXPECT_THAT(bench.take<TaskFinished>(), SizeIs(0));
  Bench silent = bench;
  bench.machine.ended(1, 2, "cancelled", "", bench.now, bench.actions);
  bench.machine.stored(1, 2, 0, RankEnd{"cancelled", ""}, bench.now, bench.actions);
  EXPECT_EQ(bench.finished().outcome, "cancelled");
  EXPECT_EQ(bench.finished().reason, "cancelled by ann");
  EXPECT_FALSE(bench.finished().unverified);

  silent.machine.tick(silent.now + TaskMachine::kEndSeconds, silent.actions);
  EXPECT_EQ(silent.finished().outcome, "crashed");
  EXPECT_TRUE(silent.finished().unverified);
  EXPECT_THAT(silent.finished().reason, HasSubstr("rank 2 on n2 did not report an end"));
}

TEST(TaskMachine, ACancelledTaskWhoseNodeIsGoneIsNotCalledCancelledNorRequeued) {
  Bench bench;
  bench.machine.cancel("cancelled by ann", bench.now, bench.actions);
  for (const std::string& node : kNodes) bench.machine.node_lost(node, bench.now, bench.actions);
  EXPECT_EQ(bench.finished().outcome, "crashed") << "its runners may go on there";
  EXPECT_THAT(bench.finished().reason, HasSubstr("node n0 lost"));
  EXPECT_FALSE(bench.finished().may_retry);
}

TEST(TaskMachine, GivenUpItEndsAsTimedOutOnceItsRunnersAreGoneAndMayBeTriedAgain) {
  Bench bench;
  bench.all_prepared();
  bench.machine.give_up("its round closed", bench.now, bench.actions);
  const auto cancels = bench.take<SendCancel>();
  ASSERT_THAT(cancels, SizeIs(3));
  EXPECT_EQ(cancels[0].outcome, "timed_out");
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    bench.machine.ended(1, rank, "timed_out", "its round closed", bench.now, bench.actions);
    bench.machine.stored(1, rank, 0, RankEnd{"timed_out", ""}, bench.now, bench.actions);
  }
  EXPECT_EQ(bench.finished().outcome, "timed_out");
  EXPECT_EQ(bench.finished().reason, "its round closed");
  EXPECT_TRUE(bench.finished().may_retry);
}

TEST(TaskMachine, ASecondStartGoesOnCountingAttemptsAndTheLastOneIsNotTriedAgain) {
  TaskSpec spec{.task_id = "t", .ranks = {{"n0", "rxe0:1"}}, .deadline_seconds = 20};
  spec.attempts_before = 1;
  TaskMachine machine(spec);
  TaskActions out;
  machine.start({{"n0", {Presence::State::kAttached, 0}}}, 0, out);
  EXPECT_EQ(machine.attempt(), 2U);
  machine.node_lost("n0", 1, out);
  const auto& last = std::get<TaskFinished>(out.back());
  EXPECT_EQ(last.outcome, "crashed");
  EXPECT_FALSE(last.may_retry);
}

TEST(TaskMachine, NothingReportedNeverPasses) {
  Bench bench;
  bench.all_prepared();
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    bench.machine.stored(1, rank, 0, RankEnd{"passed", ""}, bench.now, bench.actions);
    bench.machine.ended(1, rank, "passed", "", bench.now, bench.actions);
  }
  EXPECT_EQ(bench.finished().outcome, "crashed");
  EXPECT_EQ(bench.finished().reason, "no rank reported a value");
}

TEST(TaskMachine, APassWaitsForItsRecordsAndFailsClosedWithoutThem) {
  Bench bench;
  bench.all_prepared();
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    bench.machine.ended(1, rank, "passed", "", bench.now, bench.actions);
  bench.machine.stored(1, 0, 3, RankEnd{"passed", ""}, bench.now, bench.actions);
  bench.machine.stored(1, 1, 0, RankEnd{"passed", ""}, bench.now, bench.actions);
  EXPECT_THAT(bench.take<TaskFinished>(), SizeIs(0));
  bench.machine.tick(bench.now + TaskMachine::kStoreSeconds, bench.actions);
  EXPECT_EQ(bench.finished().outcome, "crashed");
  EXPECT_THAT(bench.finished().reason, HasSubstr("rank 2 on n2: its records did not arrive"));
}

TEST(TaskMachine, AnEndLostWithAStreamIsTakenFromTheFinalRecord) {
  Bench bench;
  bench.all_prepared();
  for (const std::uint32_t rank : {0U, 1U}) {
    bench.machine.ended(1, rank, "passed", "", bench.now, bench.actions);
    bench.machine.stored(1, rank, 1, RankEnd{"passed", ""}, bench.now, bench.actions);
  }
  bench.machine.node_detached("n2", bench.now, bench.actions);
  bench.machine.node_resumed("n2", {}, bench.now, bench.actions);
  bench.machine.stored(1, 2, 0, RankEnd{"passed", ""}, bench.now, bench.actions);
  EXPECT_EQ(bench.finished().outcome, "passed");
}

TEST(TaskMachine, ANodeBackWithoutTheTaskLosesItAfterAWhile) {
  Bench bench;
  bench.machine.node_detached("n2", bench.now, bench.actions);
  bench.machine.node_resumed("n2", {}, bench.now, bench.actions);
  EXPECT_EQ(bench.machine.next_tick(), bench.now + TaskMachine::kResumeSeconds);
  bench.machine.tick(bench.now + TaskMachine::kResumeSeconds, bench.actions);
  ASSERT_THAT(bench.take<SendCancel>(), SizeIs(2));
  EXPECT_THAT(bench.take<SendCancel>()[0].reason, HasSubstr("node n2 lost its connection"));
}

TEST(TaskMachine, ANodeLongGoneEndsTheTaskAtOnceWithoutAnAttempt) {
  TaskMachine machine(three_ranks());
  TaskActions actions;
  machine.start({{"n0", {Presence::State::kAttached, 0}}, {"n1", {Presence::State::kAttached, 0}}},
                1000, actions);
  ASSERT_THAT(actions, SizeIs(1));
  EXPECT_EQ(std::get<TaskFinished>(actions[0]).reason, "node n2 lost");
}

TEST(TaskMachine, TheFirstFinalRecordOfARankStays) {
  Bench bench;
  bench.all_prepared();
  bench.machine.stored(1, 1, 0, RankEnd{"failed", "wrong data"}, bench.now, bench.actions);
  bench.machine.stored(1, 1, 0, RankEnd{"passed", ""}, bench.now, bench.actions);
  bench.machine.node_detached("n1", bench.now, bench.actions);
  bench.machine.node_resumed("n1", {}, bench.now, bench.actions);  // its final record is its end
  const auto cancels = bench.take<SendCancel>();
  ASSERT_THAT(cancels, SizeIs(2));
  EXPECT_THAT(cancels[0].reason, HasSubstr("rank 1 on n1: wrong data"));
  for (const std::uint32_t rank : {0U, 2U}) {
    bench.machine.stored(1, rank, 1, RankEnd{"passed", ""}, bench.now, bench.actions);
    bench.machine.ended(1, rank, "passed", "", bench.now, bench.actions);
  }
  EXPECT_EQ(bench.finished().outcome, "failed");
}

TEST(TaskMachine, AnInterruptedTaskEndsItsRunnersAndSaysThatItMayBeMeasuredLater) {
  Bench bench;
  bench.all_prepared();
  bench.machine.interrupt("its nodes are lent", bench.now, bench.actions);
  EXPECT_THAT(bench.take<SendCancel>(), SizeIs(3));
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    bench.machine.stored(1, rank, 0, RankEnd{"cancelled", "told to"}, bench.now, bench.actions);
    bench.machine.ended(1, rank, "cancelled", "told to", bench.now, bench.actions);
  }
  const TaskFinished end = bench.finished();
  EXPECT_EQ(end.outcome, "cancelled");
  EXPECT_EQ(end.reason, "its nodes are lent");
  EXPECT_TRUE(end.interrupted);
  EXPECT_FALSE(end.unverified);
}

TEST(TaskMachine, ATaskThatHadAnEndOfItsOwnIsNotInterrupted) {
  Bench bench;
  bench.all_prepared();
  bench.machine.stored(1, 0, 0, RankEnd{"failed", "wrong data"}, bench.now, bench.actions);
  bench.machine.ended(1, 0, "failed", "wrong data", bench.now, bench.actions);
  bench.machine.interrupt("its nodes are lent", bench.now, bench.actions);
  for (std::uint32_t rank = 1; rank < 3; ++rank) {
    bench.machine.stored(1, rank, 0, RankEnd{"cancelled", ""}, bench.now, bench.actions);
    bench.machine.ended(1, rank, "cancelled", "", bench.now, bench.actions);
  }
  EXPECT_EQ(bench.finished().outcome, "failed");
  EXPECT_FALSE(bench.finished().interrupted);
}

TEST(TaskMachine, AnInterruptedTaskThatACancelFollowsIsCancelled) {
  Bench bench;
  bench.machine.interrupt("its nodes are lent", bench.now, bench.actions);
  bench.machine.cancel("cancelled by me", bench.now, bench.actions);
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    bench.machine.refused(1, rank, "cancelled", "", bench.now, bench.actions);
  EXPECT_EQ(bench.finished().outcome, "cancelled");
  EXPECT_FALSE(bench.finished().interrupted);
}

}  // namespace
}  // namespace railgauge::run
