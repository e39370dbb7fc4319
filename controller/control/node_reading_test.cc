#include "controller/control/node_reading.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace railgauge {
namespace {

using namespace std::chrono_literals;

// A store of one node, whose readings may be held.
class SlowStore {
 public:
  Result<StoredNodes> read() {
    std::unique_lock lock(mutex_);
    const std::int64_t stack = stack_;  // as it is when the reading begins
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !is_held_; });
    if (fails_) return fail(Code::kUnavailable, "the store is locked");
    return StoredNodes{.stacks = {{"n1", stack}}};
  }
  std::uint64_t changes() const { return changes_; }
  void change(std::int64_t stack) {
    const std::lock_guard lock(mutex_);
    stack_ = stack;
    ++changes_;
  }
  void hold(bool is_held) {
    const std::lock_guard lock(mutex_);
    is_held_ = is_held;
    changed_.notify_all();
  }
  void fail_from_now_on() {
    const std::lock_guard lock(mutex_);
    fails_ = true;
  }
  // Whether `count` readings have begun within 10 s.
  bool await_begun(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, [&] { return begun_ >= count; });
  }
  int begun() {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t stack_ = 1;
  int begun_ = 0;
  bool is_held_ = false;
  bool fails_ = false;
  std::atomic<std::uint64_t> changes_ = 0;
};

class NodeReadingTest : public testing::Test {
 protected:
  static constexpr double kRenewSeconds = 0.005;
  // The end of the reading needs its thread.
  ~NodeReadingTest() override { store_.hold(false); }

  std::int64_t stack() { return reading_.newest().value()->stacks.at("n1"); }
  // Whether the newest reading has this stack within 10 s.
  bool becomes(std::int64_t wanted) {
    for (int tries = 0; tries < 2000; ++tries) {
      if (stack() == wanted) return true;
      std::this_thread::sleep_for(5ms);
    }
    return false;
  }

  SlowStore store_{};
  NodeReading reading_{[this] { return store_.read(); }, [this] { return store_.changes(); },
                       kRenewSeconds};
};

TEST_F(NodeReadingTest, NobodyWaitsForAReadingThatIsUnderWay) {
  ASSERT_TRUE(becomes(1));
  store_.hold(true);
  const int before = store_.begun();
  store_.change(2);
  ASSERT_TRUE(store_.await_begun(before + 1)) << "nobody has asked";
  // Callers that come together, while that reading ends only at the end of the test.
  std::vector<std::future<std::int64_t>> callers;
  for (int i = 0; i < 8; ++i)
    callers.push_back(std::async(std::launch::async, [this] { return stack(); }));
  for (auto& caller : callers) {
    ASSERT_EQ(caller.wait_for(5s), std::future_status::ready) << "it waits for the reading";
    EXPECT_EQ(caller.get(), 1);
  }
  EXPECT_EQ(store_.begun(), before + 1) << "a caller has read by itself";
  store_.hold(false);
  EXPECT_TRUE(becomes(2));
}

TEST_F(NodeReadingTest, AChangeIsReadThoughNobodyAsks) {
  ASSERT_TRUE(becomes(1));
  const int before = store_.begun();
  store_.change(2);
  ASSERT_TRUE(store_.await_begun(before + 1));
  EXPECT_TRUE(becomes(2));
}

TEST_F(NodeReadingTest, WithoutAChangeNothingIsRead) {
  ASSERT_TRUE(becomes(1));
  std::this_thread::sleep_for(50ms);  // of ten renewals
  const int before = store_.begun();
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(stack(), 1);
  EXPECT_EQ(store_.begun(), before);
}

TEST_F(NodeReadingTest, AReadingOfNowIsTheNewestAtOnce) {
  ASSERT_TRUE(becomes(1));
  store_.change(2);
  ASSERT_TRUE(reading_.read_now());
  EXPECT_EQ(stack(), 2);
}

TEST_F(NodeReadingTest, AReadingThatBeganEarlierDoesNotReplaceALaterOne) {
  ASSERT_TRUE(becomes(1));
  store_.hold(true);
  const int before = store_.begun();
  store_.change(2);
  ASSERT_TRUE(store_.await_begun(before + 1));  // it reads 2 and is held
  store_.change(3);
  auto later = std::async(std::launch::async, [this] { return reading_.read_now().has_value(); });
  ASSERT_TRUE(store_.await_begun(before + 2));
  store_.hold(false);
  EXPECT_TRUE(later.get());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(stack(), 3);
    std::this_thread::sleep_for(1ms);
  }
}

TEST(NodeReading, ACallerReadsByItselfOnceTheReadingIsTooOld) {
  SlowStore store;
  NodeReading reading([&] { return store.read(); }, [&] { return store.changes(); }, 3'600, 0.2);
  ASSERT_TRUE(store.await_begun(1));
  ASSERT_TRUE(reading.read_now());
  store.change(2);
  EXPECT_EQ(reading.newest().value()->stacks.at("n1"), 1) << "it is young";
  std::this_thread::sleep_for(250ms);
  const int before = store.begun();
  EXPECT_EQ(reading.newest().value()->stacks.at("n1"), 2);
  EXPECT_EQ(store.begun(), before + 1);
  store.fail_from_now_on();
  store.change(3);
  std::this_thread::sleep_for(250ms);
  EXPECT_EQ(reading.newest().error().code, Code::kUnavailable) << "an old one is no answer";
}

TEST_F(NodeReadingTest, AStoreThatFailsLeavesTheReadingThatThereIs) {
  ASSERT_TRUE(becomes(1));
  store_.fail_from_now_on();
  store_.change(2);
  EXPECT_EQ(stack(), 1);
  EXPECT_EQ(reading_.read_now().error().code, Code::kUnavailable);
  EXPECT_EQ(stack(), 1);
}

}  // namespace
}  // namespace railgauge
