// Orders of preflights on the worker's thread. The node is a synthetic tree.
#include "agent/preflight/worker.h"
#include "agent/inventory/read_inventory.h"

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/preflight/testing/tree_report.h"
#include "agent/testing/node_tree.h"
#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

api::PreflightOrder order_of(const std::string& id) {
  api::PreflightOrder order;
  order.set_request_id(id);
  return order;
}

class WorkerTest : public testing::Test {
 protected:
  void SetUp() override { tree_.apply("include ethernet_10g\n"); }
  PreflightOptions options() {
    return {.node_name = "n1",
            .inventory = {.root = tree_.root(), .source_seconds = 60},
            .seconds = 90};
  }
  // Called by the worker: counts, and holds its thread while the gate is shut.
  void ring() {
    std::unique_lock lock(mutex_);
    ++rings_;
    changed_.notify_all();
    if (std::this_thread::get_id() == tester_) return;
    changed_.wait(lock, [this] { return open_; });
  }
  void wait_for_rings(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return rings_ >= count; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  NodeTree tree_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int rings_ = 0;
  const std::thread::id tester_ = std::this_thread::get_id();
};

// Compares the time limits, not the clock, so that a busy machine does not fail the test.
TEST(PreflightTimes, AllTogetherAreBelowTwoSecondsWhoeverHangs) {
  const PreflightOptions options{.inventory = {.source_seconds = 3}};
  const InventoryOptions inventory = inventory_within(options);
  const double first = wave_seconds(inventory, 0, 0);
  const double second = wave_seconds(inventory, 1, first);  // something hung in the first
  EXPECT_GT(first, 0.7);
  EXPECT_GT(second, 0.3);
  EXPECT_LT(first + second, 1.5);
  const double helper = left_for_question(options, first + second, 2);
  EXPECT_GT(helper, 0.3);
  const double ports = left_for_question(options, first + second + helper, 1.5);
  EXPECT_GT(ports, 0);
  EXPECT_LT(first + second + helper + ports, 2);
  EXPECT_EQ(left_for_question(options, 0.1, 1.5), 1.5) << "where nothing hung";
  EXPECT_EQ(wave_seconds({.source_seconds = 3}, 1, 2), 3) << "without a limit of the whole";
}

TEST(PreflightTimes, EachWaveOfAReadingIsGivenWhatIsLeft) {
  const NodeTree tree("ethernet_10g");
  const Inventory node =
      read_inventory({.root = tree.root(), .source_seconds = 60, .all_seconds = 30});
  ASSERT_EQ(node.wave_seconds.size(), 2U);
  EXPECT_LE(node.wave_seconds[0], 20);
  EXPECT_LT(node.wave_seconds[1], 30);
  EXPECT_GT(node.wave_seconds[1], 0);
}

std::vector<std::string> ids_of(const std::vector<api::PreflightAnswer>& answers) {
  std::vector<std::string> ids;
  ids.reserve(answers.size());
  for (const api::PreflightAnswer& answer : answers) ids.push_back(answer.request_id());
  return ids;
}

TEST_F(WorkerTest, OrdersAreAnsweredInTheirOrderEachOnce) {
  PreflightWorker worker(options(), [this] { ring(); });
  EXPECT_TRUE(worker.take().empty());
  for (const char* id : {"a", "b", "c"}) worker.order(order_of(id));
  wait_for_rings(3);
  const auto answers = worker.take();
  EXPECT_THAT(ids_of(answers), ElementsAre("a", "b", "c"));
  for (const api::PreflightAnswer& answer : answers) {
    ASSERT_EQ(answer.report().nodes_size(), 1);
    EXPECT_EQ(answer.report().nodes(0).node(), "n1");
    EXPECT_GT(answer.report().checks_size(), 36);
  }
  EXPECT_TRUE(worker.take().empty());
  worker.order(order_of("d"));  // its thread had ended
  wait_for_rings(4);
  EXPECT_THAT(ids_of(worker.take()), ElementsAre("d"));
}

TEST_F(WorkerTest, WhatSomebodyRequiresIsJudgedForThatOrderAlone) {
  PreflightWorker worker(options(), [this] { ring(); });
  api::PreflightOrder strict = order_of("strict");
  strict.add_require("gpu_nic_distance");
  worker.order(strict);
  worker.order(order_of("plain"));
  wait_for_rings(2);
  const auto answers = worker.take();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[1].report().checks_size(), answers[0].report().checks_size());
}

// The site profile's values come with the order, and stay with it.
TEST_F(WorkerTest, ThePortsAreHeldToTheOrdersSite) {
  tree_.apply("include one_rail\n");
  PreflightWorker worker(options(), [this] { ring(); });
  api::PreflightOrder other = order_of("other");
  other.set_lossless_priority(5);
  worker.order(other);
  api::PreflightOrder agreed = order_of("agreed");
  agreed.set_lossless_priority(3);
  agreed.set_traffic_class(106);
  worker.order(agreed);
  api::PreflightOrder marked = agreed;
  marked.set_request_id("marked");
  marked.set_traffic_class(184);
  worker.order(marked);
  worker.order(order_of("plain"));
  wait_for_rings(4);
  std::vector<std::string> states;
  for (const api::PreflightAnswer& answer : worker.take())
    states.push_back(state_of(answer.report(), "congestion_control"));
  EXPECT_THAT(states, ElementsAre("warn", "pass", "warn", "pass"));
}

// The agent that tried registrations has ended; its successor was not asked to try any.
TEST_F(WorkerTest, WhatARegistrationSaidIsToldByTheAgentAfterARestart) {
  tree_.apply("include one_rail\n");
  const std::string runner = tree_ / "answers/runner";
  std::filesystem::permissions(runner, std::filesystem::perms::owner_all);
  const TempDir state;
  PreflightOptions kept = options();
  kept.runner = runner;
  kept.state_folder = state.path();
  const auto registration_told = [&](bool probe, int ring) {
    PreflightWorker worker(kept, [this] { this->ring(); });
    api::PreflightOrder order = order_of("one");
    order.set_probe(probe);
    worker.order(order);
    wait_for_rings(ring);
    const auto answers = worker.take();
    for (const api::PreflightCheck& check : answers.at(0).report().checks())
      if (check.id() == "gpudirect_registration") return check.observed();
    return std::string("there is no such check");
  };
  EXPECT_EQ(registration_told(true, 1), "registered by dma-buf");
  EXPECT_THAT(registration_told(false, 2),
              MatchesRegex("not tried now; [0-9]+ s ago: registered by dma-buf"));
}

TEST_F(WorkerTest, TooManyOrdersAreRefusedWithTheReasonAndTheOthersAreAnswered) {
  open_ = false;
  PreflightWorker worker(options(), [this] { ring(); });
  worker.order(order_of("first"));
  wait_for_rings(1);  // it is answered, and its thread is held
  for (std::size_t i = 0; i < PreflightWorker::kMaxWaiting; ++i)
    worker.order(order_of(std::to_string(i)));
  worker.order(order_of("too many"));
  const auto answers = worker.take();
  ASSERT_THAT(ids_of(answers), ElementsAre("first", "too many"));
  EXPECT_EQ(answers[1].report().nodes(0).state(), "error");
  EXPECT_THAT(answers[1].report().nodes(0).error(), HasSubstr("ask again later"));
  open();
  wait_for_rings(2 + static_cast<int>(PreflightWorker::kMaxWaiting));
  EXPECT_EQ(worker.take().size(), PreflightWorker::kMaxWaiting);
}

TEST_F(WorkerTest, WhoEndsItWaitsForTheOneUnderWay) {
  open_ = false;
  auto worker = std::make_unique<PreflightWorker>(options(), [this] { ring(); });
  for (const char* id : {"a", "b", "c"}) worker->order(order_of(id));
  wait_for_rings(1);
  std::thread later([this] { open(); });
  worker.reset();
  later.join();
  EXPECT_LE(rings_, 3) << "and nobody rings any more";
}

}  // namespace
}  // namespace railgauge::agent
