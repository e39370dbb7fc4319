#include "controller/console/answer_cache.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::console {
namespace {

using testing::HasSubstr;

constexpr CacheBounds kBounds{.count = 3, .weight = 10, .turn_seconds = 20, .long_seconds = 300};

constexpr int kBrief = 7;  // a value that a write ends soon

class AnswerCacheTest : public testing::Test {
 protected:
  // The value of the key; a new one is `next_`.
  int get(const std::string& key) {
    const auto value = kept_.get(key, [this]() -> Result<std::shared_ptr<const int>> {
      ++made_;
      return std::make_shared<const int>(next_);
    });
    return value ? **value : -1;
  }

  std::uint64_t writes_ = 0;
  double now_ = 1'000;
  int next_ = 1;
  int made_ = 0;
  AnswerCache<int> kept_{kBounds, [this] { return writes_; }, [this] { return now_; },
                         [](const int& value) { return static_cast<std::size_t>(value); },
                         [](const int& value) { return value == kBrief ? 2.0 : 30.0; }};
};

TEST_F(AnswerCacheTest, AValueIsKeptForItsLongTimeWhileNothingIsWritten) {
  EXPECT_EQ(get("a"), 1);
  next_ = 2;
  now_ += 300;
  EXPECT_EQ(get("a"), 1);
  now_ += 0.5;
  EXPECT_EQ(get("a"), 2);
}

TEST_F(AnswerCacheTest, AfterAWriteAValueIsKeptForItsShortTime) {
  EXPECT_EQ(get("a"), 1);
  next_ = 2;
  ++writes_;
  now_ += 29.9;
  EXPECT_EQ(get("a"), 1);
  now_ += 0.2;
  EXPECT_EQ(get("a"), 2);
}

TEST_F(AnswerCacheTest, AValueSaysHowLongItLastsAfterAWrite) {
  next_ = kBrief;
  EXPECT_EQ(get("a"), kBrief);
  next_ = 2;
  now_ += 100;
  EXPECT_EQ(get("a"), kBrief);
  ++writes_;
  EXPECT_EQ(get("a"), 2);
}

// The write may be of what the reading did not see.
TEST_F(AnswerCacheTest, AWriteWhileAValueIsMadeCountsAsALaterOne) {
  const auto made = kept_.get("a", [this]() -> Result<std::shared_ptr<const int>> {
    ++writes_;
    now_ += 25;
    return std::make_shared<const int>(1);
  });
  ASSERT_TRUE(made);
  next_ = 2;
  now_ += 29;
  EXPECT_EQ(get("a"), 1) << "its short time begins when it is made";
  now_ += 2;
  EXPECT_EQ(get("a"), 2);
}

TEST_F(AnswerCacheTest, WithoutACountOfWritesAllHaveTheShortTime) {
  AnswerCache<int> kept(
      kBounds, {}, [this] { return now_; }, [](const int&) { return std::size_t{1}; },
      [](const int&) { return 30.0; });
  const auto ask = [&] {
    return **kept.get("a", [this]() -> Result<std::shared_ptr<const int>> {
      return std::make_shared<const int>(next_);
    });
  };
  EXPECT_EQ(ask(), 1);
  next_ = 2;
  now_ += 31;
  EXPECT_EQ(ask(), 2);
}

TEST_F(AnswerCacheTest, TheOnesThatWereAskedForLastStay) {
  for (const char* key : {"a", "b", "c", "a", "d"}) get(key);
  made_ = 0;
  for (const char* key : {"a", "c", "d"}) get(key);
  EXPECT_EQ(made_, 0);
  get("b");
  EXPECT_EQ(made_, 1);
}

TEST_F(AnswerCacheTest, AHeavyValueIsKeptAlone) {
  get("a");
  next_ = 100;
  get("b");
  made_ = 0;
  get("b");
  EXPECT_EQ(made_, 0);
  get("a");
  EXPECT_EQ(made_, 1);
}

TEST_F(AnswerCacheTest, AnErrorIsNotKept) {
  const auto failed = kept_.get(
      "a", []() -> Result<std::shared_ptr<const int>> { return fail(Code::kNotFound, "no run"); });
  EXPECT_EQ(failed.error().code, Code::kNotFound);
  EXPECT_EQ(get("a"), 1);
}

TEST_F(AnswerCacheTest, AnExceptionEndsTheTurn) {
  EXPECT_THROW(static_cast<void>(kept_.get(
                   "a", []() -> Result<std::shared_ptr<const int>> { throw std::bad_alloc(); })),
               std::bad_alloc);
  EXPECT_EQ(get("a"), 1);
}

TEST_F(AnswerCacheTest, SeveralWhoAskAtOnceGetOneValue) {
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  std::atomic<int> sum = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      const auto value = kept_.get("a", [&]() -> Result<std::shared_ptr<const int>> {
        ++made;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return std::make_shared<const int>(5);
      });
      sum += value ? **value : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(sum, 40);
}

TEST_F(AnswerCacheTest, WhoWaitsForLongerThanATurnIsRefused) {
  CacheBounds bounds = kBounds;
  bounds.turn_seconds = 0.02;
  AnswerCache<int> kept(
      bounds, {}, [this] { return now_; }, [](const int&) { return std::size_t{1}; },
      [](const int&) { return 30.0; });
  std::string why;
  const auto made = kept.get("a", [&]() -> Result<std::shared_ptr<const int>> {
    std::thread other([&] {
      const auto refused = kept.get("b", []() -> Result<std::shared_ptr<const int>> {
        return std::make_shared<const int>(1);
      });
      if (!refused) why = refused.error().message;
    });
    other.join();
    return std::make_shared<const int>(1);
  });
  EXPECT_TRUE(made);
  EXPECT_THAT(why, HasSubstr("another answer is being made; try again"));
}

}  // namespace
}  // namespace railgauge::console
