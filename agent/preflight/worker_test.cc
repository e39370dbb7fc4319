// Orders of preflights on the worker's thread. The node is a synthetic tree.
#include "agent/preflight/worker.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/node_tree.h"

namespace railgauge::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

api::PreflightOrder order_of(const std::string& id) {
  api::PreflightOrder order;
  order.set_request_id(id);
  return order;
}

class WorkerTest : public testing::Test {
 protected:
  void SetUp() override { tree_.apply("include ethernet_10g\n"); }
  PreflightOptions options() {
    return {.node_name = "n1", .inventory = {.root = tree_.root(), .source_seconds = 60}};
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

std::vector<std::string> ids_of(const std::vector<api::PreflightAnswer>& answers) {
  std::vector<std::string> ids;
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
