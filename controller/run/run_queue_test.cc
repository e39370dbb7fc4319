#include "controller/run/run_queue.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A queue with what it decided, as words: "begin a", "lend n1 n2 of night to gate".
class QueueBench {
 public:
  QueueBench& add(const std::string& id, Priority priority, std::vector<std::string> nodes,
                  const std::string& requester = "") {
    QueueActions out;
    queue_.add({.run_id = id,
                .priority = priority,
                .requester = requester.empty() ? "by " + id : requester,
                .nodes = std::move(nodes)},
               out);
    return note(out);
  }
  QueueBench& remove(const std::string& id) {
    QueueActions out;
    queue_.remove(id, out);
    return note(out);
  }
  QueueBench& cleared(const std::string& id, const std::string& node) {
    QueueActions out;
    queue_.cleared(id, node, out);
    return note(out);
  }
  std::vector<std::string> take() { return std::exchange(words_, {}); }

  RunQueue queue_;

 private:
  static std::string text(const std::vector<std::string>& nodes) {
    std::string all;
    for (const std::string& node : nodes) all += node + " ";
    return all;
  }
  void see(const BeginRun& action) { words_.push_back("begin " + action.run_id); }
  void see(const LendNodes& action) {
    words_.push_back("lend " + text(action.nodes) + "of " + action.run_id + " to " + action.to);
  }
  void see(const ReturnNodes& action) {
    words_.push_back("return " + text(action.nodes) + "to " + action.run_id);
  }
  QueueBench& note(const QueueActions& actions) {
    for (const QueueAction& action : actions)
      std::visit([this](const auto& one) { see(one); }, action);
    return *this;
  }

  std::vector<std::string> words_;
};

constexpr Priority kGate = Priority::kGate;
constexpr Priority kCli = Priority::kCli;
constexpr Priority kNight = Priority::kSchedule;

TEST(RunQueue, RunsWhoseNodesDoNotMeetAreUnderWayTogether) {
  QueueBench bench;
  bench.add("night", kNight, {"n1", "n2", "n3"}).add("two", kCli, {"n4", "n5"});
  EXPECT_THAT(bench.take(), ElementsAre("begin night", "begin two"));
  EXPECT_EQ(bench.queue_.waiting(), 0U);
}

TEST(RunQueue, ARunThatMeetsAnotherWaitsAndSaysForWhom) {
  QueueBench bench;
  bench.add("night", kNight, {"n1", "n2", "n3"}).add("two", kCli, {"n4", "n3", "n2"});
  EXPECT_THAT(bench.take(), ElementsAre("begin night"));
  EXPECT_THAT(bench.queue_.waits_of("two"),
              ElementsAre(RunWait{RunWait::Kind::kNodes, "night", {"n2", "n3"}}));
  EXPECT_EQ(bench.queue_.waiting(kCli), 1U);
  EXPECT_EQ(bench.queue_.waiting(kNight), 0U);
  bench.remove("night");
  EXPECT_THAT(bench.take(), ElementsAre("begin two"));
  EXPECT_THAT(bench.queue_.waits_of("two"), IsEmpty());
}

TEST(RunQueue, TheHigherPriorityGoesFirstAndBarsTheLower) {
  QueueBench bench;
  bench.add("first", kCli, {"n1"});
  bench.add("night", kNight, {"n1", "n2"})
      .add("gate", kGate, {"n1", "n2"})
      .add("cli", kCli, {"n2"});
  EXPECT_THAT(bench.take(), ElementsAre("begin first"));
  EXPECT_THAT(bench.queue_.waits_of("cli"),
              ElementsAre(RunWait{RunWait::Kind::kQueue, "gate", {"n2"}}))
      << "n2 is free, and the gate's run goes first";
  bench.remove("first");
  EXPECT_THAT(bench.take(), ElementsAre("begin gate"));
  bench.remove("gate");
  EXPECT_THAT(bench.take(), ElementsAre("begin cli")) << "n1 is free, and the night waits for n2";
  bench.remove("cli");
  EXPECT_THAT(bench.take(), ElementsAre("begin night"));
}

TEST(RunQueue, RequestersOfOnePriorityTakeTurns) {
  QueueBench bench;
  bench.add("a1", kCli, {"n1"}, "a").add("a2", kCli, {"n1"}, "a").add("a3", kCli, {"n1"}, "a");
  bench.add("b1", kCli, {"n1"}, "b").add("b2", kCli, {"n1"}, "b");
  std::vector<std::string> order;
  for (const char* id : {"a1", "b1", "a2", "b2", "a3"}) {
    EXPECT_THAT(bench.take(), ElementsAre(std::string("begin ") + id));
    bench.remove(id);
  }
}

TEST(RunQueue, AScheduledRunIsPassedABoundedNumberOfTimes) {
  QueueBench bench;
  bench.add("first", kCli, {"n1"}).add("night", kNight, {"n1", "n2"}).remove("first");
  EXPECT_THAT(bench.take(), ElementsAre("begin first", "begin night"));
  bench.add("next", kNight, {"n1", "n2"});
  for (std::uint32_t i = 0; i <= RunQueue::kMostOvertakes; ++i)
    bench.add("cli" + std::to_string(i), kCli, {"n1"});
  bench.take();
  bench.remove("night");
  for (std::uint32_t i = 0; i < RunQueue::kMostOvertakes; ++i) {
    EXPECT_THAT(bench.take(), ElementsAre("begin cli" + std::to_string(i)));
    bench.remove("cli" + std::to_string(i));
  }
  EXPECT_THAT(bench.take(), ElementsAre("begin next")) << "nobody passes it any more";
}

TEST(RunQueue, AGateBorrowsNodesOfANightWhichGetsThemBack) {
  QueueBench bench;
  bench.add("night", kNight, {"n1", "n2", "n3"}).add("gate", kGate, {"n4", "n2", "n3"});
  EXPECT_THAT(bench.take(), ElementsAre("begin night", "lend n2 n3 of night to gate"));
  EXPECT_THAT(bench.queue_.waits_of("gate"),
              ElementsAre(RunWait{RunWait::Kind::kYield, "night", {"n2", "n3"}}));
  EXPECT_THAT(bench.queue_.waits_of("night"),
              ElementsAre(RunWait{RunWait::Kind::kLent, "gate", {"n2", "n3"}}));
  bench.cleared("night", "n2");
  EXPECT_THAT(bench.take(), IsEmpty());
  bench.cleared("night", "n3");
  EXPECT_THAT(bench.take(), ElementsAre("begin gate"));
  EXPECT_THAT(bench.queue_.uncleared(), IsEmpty());
  bench.add("cli", kCli, {"n2"});
  EXPECT_THAT(bench.take(), IsEmpty());
  bench.remove("gate");
  EXPECT_THAT(bench.take(), ElementsAre("return n2 n3 to night"));
  EXPECT_THAT(bench.queue_.waits_of("cli"),
              ElementsAre(RunWait{RunWait::Kind::kNodes, "night", {"n2"}}));
}

TEST(RunQueue, AGateTakesNothingFromAPersonsRunAndNothingInAdvance) {
  QueueBench bench;
  bench.add("night", kNight, {"n1"}).add("cli", kCli, {"n2"}).add("gate", kGate, {"n1", "n2"});
  EXPECT_THAT(bench.take(), ElementsAre("begin night", "begin cli"));
  bench.remove("cli");
  EXPECT_THAT(bench.take(), ElementsAre("lend n1 of night to gate"));
}

TEST(RunQueue, ANightThatEndsLeavesItsLentNodesToTheBorrower) {
  QueueBench bench;
  bench.add("night", kNight, {"n1", "n2"}).add("gate", kGate, {"n1"});
  bench.take();
  bench.remove("night");
  EXPECT_THAT(bench.take(), ElementsAre("begin gate")) << "nobody is left to clear the node";
  EXPECT_EQ(bench.queue_.user_of("n1"), "gate");
  bench.remove("gate");
  EXPECT_THAT(bench.take(), IsEmpty());
  EXPECT_EQ(bench.queue_.leased(), 0U);
}

TEST(RunQueue, ACancelledGateReturnsWhatItHasNotUsed) {
  QueueBench bench;
  bench.add("night", kNight, {"n1", "n2"}).add("gate", kGate, {"n1", "n3"});
  bench.take();
  bench.remove("gate");
  EXPECT_THAT(bench.take(), ElementsAre("return n1 to night"));
  bench.cleared("night", "n1");
  EXPECT_THAT(bench.take(), IsEmpty());
  bench.add("other", kCli, {"n3"});
  EXPECT_THAT(bench.take(), ElementsAre("begin other"));
}

TEST(RunQueue, ANightIsInterruptedABoundedNumberOfTimes) {
  QueueBench bench;
  bench.add("night", kNight, {"n1"});
  for (std::uint32_t i = 0; i < RunQueue::kMostInterruptions; ++i) {
    bench.add("gate", kGate, {"n1"}).cleared("night", "n1").remove("gate");
  }
  bench.take();
  bench.add("gate", kGate, {"n1"});
  EXPECT_THAT(bench.take(), IsEmpty());
}

TEST(RunQueue, TriggersHaveTheirPriorities) {
  EXPECT_EQ(priority_of("upgrade"), kGate);
  EXPECT_EQ(priority_of("cli"), kCli);
  EXPECT_EQ(priority_of("schedule"), kNight);
  EXPECT_EQ(text_of(kGate), "gate");
  EXPECT_EQ(text_of(kNight), "schedule");
}

}  // namespace
}  // namespace railgauge::run
