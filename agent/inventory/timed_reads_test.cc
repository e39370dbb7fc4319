#include "agent/inventory/timed_reads.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::agent {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A read that hangs until it is released.
class Hang {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [this] { return open_; });
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    open_ = true;
    released_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable released_;
  bool open_ = false;
};

void until_none_is_stuck() {
  for (int i = 0; i < 2000 && stuck_readers() > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(stuck_readers(), 0u);
}

TEST(TimedReads, AnswersAreCalledInOrderByTheWaitingThread) {
  std::vector<int> seen;
  const auto self = std::this_thread::get_id();
  const auto read = [&](int number) -> Read {
    return [&seen, self, number] {
      return [&seen, self, number] {
        EXPECT_EQ(std::this_thread::get_id(), self);
        seen.push_back(number);
      };
    };
  };
  const TimedResult result = read_in_time({"order a", "order b", "order c", "order d", "order e"},
                                          {read(1), read(2), read(3), read(4), read(5)}, 60);
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(result.late, IsEmpty());
  EXPECT_THAT(result.milliseconds, SizeIs(5));
}

TEST(TimedReads, APlaceThatHangsCostsItsOwnAnswerAlone) {
  const auto hang = std::make_shared<Hang>();
  std::atomic<int> answered = 0;
  std::vector<std::string> names;
  std::vector<Read> reads;
  for (int i = 0; i < 8; ++i) {
    names.push_back("hang " + std::to_string(i));
    const bool hangs = i < 5;  // more than the initial readers
    reads.emplace_back([hang, hangs, &answered]() -> std::function<void()> {
      if (hangs) hang->wait();
      return [&answered] { ++answered; };
    });
  }
  const TimedResult result = read_in_time(names, reads, 1);
  EXPECT_EQ(answered, 3);
  EXPECT_THAT(result.late, ElementsAre("hang 0", "hang 1", "hang 2", "hang 3", "hang 4"));
  EXPECT_EQ(stuck_readers(), 5u);
  hang->release();
  until_none_is_stuck();
  EXPECT_EQ(answered, 3) << "what comes too late is not wanted";
}

TEST(TimedReads, APlaceThatStillHangsIsNotAskedAgain) {
  const auto hang = std::make_shared<Hang>();
  int asked = 0;
  const Read read = [hang, &asked]() -> std::function<void()> {
    ++asked;
    hang->wait();
    return {};
  };
  static_cast<void>(read_in_time({"again"}, {read}, 0.05));
  const TimedResult second = read_in_time({"again"}, {read}, 60);
  EXPECT_THAT(second.late, ElementsAre("again"));
  EXPECT_EQ(asked, 1);
  hang->release();
  until_none_is_stuck();
  static_cast<void>(read_in_time({"again"}, {read}, 60));
  EXPECT_EQ(asked, 2) << "it answers now";
}

}  // namespace
}  // namespace railgauge::agent
