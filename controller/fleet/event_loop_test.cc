#include "controller/fleet/event_loop.h"

#include <atomic>
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

}  // namespace
}  // namespace railgauge::fleet
