#include "controller/fleet/event_loop.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/fleet/worker_pool.h"

namespace railgauge::fleet {
namespace {

TEST(EventLoop, TasksRunInOrderOnOneThread) {
  EventLoop loop;
  std::vector<int> seen;  // only the loop writes
  for (int i = 0; i < 100; ++i) loop.post([&seen, i] { seen.push_back(i); });
  const auto count = loop.call([&seen] { return seen.size(); });
  EXPECT_EQ(count, 100U);
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST(EventLoop, ACallFromTheLoopItselfRunsAtOnce) {
  EventLoop loop;
  EXPECT_EQ(loop.call([&loop] { return loop.call([] { return 7; }); }), 7);
}

TEST(EventLoop, WhatIsQueuedIsDoneBeforeItStopsAndNothingAfter) {
  EventLoop loop;
  std::atomic<int> done = 0;
  for (int i = 0; i < 50; ++i) loop.post([&done] { ++done; });
  loop.stop();
  EXPECT_EQ(done, 50);
  loop.post([&done] { ++done; });
  EXPECT_EQ(done, 50);
}

TEST(WorkerPool, AFullQueueRefusesAndTheRestIsDone) {
  std::mutex gate;
  std::atomic<std::size_t> done = 0;
  std::size_t accepted = 0;
  {
    WorkerPool pool(1);
    const std::unique_lock closed(gate);
    while (pool.submit([&] {
      const std::lock_guard open(gate);
      ++done;
    }))
      ++accepted;
    EXPECT_GE(accepted, WorkerPool::kMaxQueued);
    EXPECT_LE(accepted, WorkerPool::kMaxQueued + 1);  // one may be in the worker's hands
  }
  EXPECT_EQ(done, accepted);
}

// A peer that fills its places takes none from the controller, nor from another peer, and their
// work is next.
TEST(WorkerPool, AFloodOfOneOwnerDelaysTheOthersByOnePieceOfWork) {
  std::mutex gate;
  std::mutex order_mutex;
  std::vector<std::string> order;
  {
    WorkerPool pool(1);
    const auto submit = [&](const std::string& owner) {
      return pool.submit(
          [&, owner] {
            const std::lock_guard open(gate);
            const std::lock_guard lock(order_mutex);
            order.push_back(owner);
          },
          owner);
    };
    const std::unique_lock closed(gate);
    std::size_t accepted = 0;
    while (submit("flood")) ++accepted;
    EXPECT_GE(accepted, WorkerPool::kMaxQueuedOfAnOwner);
    EXPECT_LE(accepted, WorkerPool::kMaxQueuedOfAnOwner + 1);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(submit(""));
      EXPECT_TRUE(submit("other"));
    }
    while (submit("third")) ++accepted;
    EXPECT_FALSE(submit("fourth")) << "peers together have a bound";
    EXPECT_TRUE(submit("")) << "whose places are the controller's own";
  }
  ASSERT_GT(order.size(), 12U);
  // The first piece may have been under way; then the owners take turns.
  const auto before = [&](std::size_t count, const std::string& owner) {
    return std::count(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), owner);
  };
  EXPECT_EQ(before(13, ""), 3) << "by turns";
  EXPECT_EQ(before(13, "other"), 3);
}

}  // namespace
}  // namespace railgauge::fleet
