#include "controller/fast_forward.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

namespace railgauge {
namespace {

constexpr double kStart = 1'767'571'200;  // 2026-01-05
constexpr double kDay = 24 * 3600;
constexpr int kMostLooks = 6'000;  // of 5 ms

class FastForwards : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove(path_);
    auto made = ClockPage::make(path_, kStart);
    ASSERT_TRUE(made) << made.error().message;
    page_ = *made;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  // A site with a run at noon of every day. A run ends when it was looked at a few times.
  FastForward::Site site() {
    return {.is_idle = [this] { return looks_left_ == 0 || --looks_left_ == 0; },
            .next_due = [this]() -> std::optional<double> { return next_noon_.load(); },
            .do_due =
                [this](double now) {
                  if (now < next_noon_) return;
                  begun_while_busy_ = begun_while_busy_ || looks_left_ > 0;
                  late_ = std::max(late_.load(), now - next_noon_);
                  next_noon_ = next_noon_ + kDay;
                  looks_left_ = 4;
                  ++runs_;
                }};
  }
  bool settles() {
    for (int look = 0; look < kMostLooks && !page_->is_settled(); ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return page_->is_settled();
  }

  const std::string path_ = testing::TempDir() + "fast_forward_test_page";
  std::shared_ptr<ClockPage> page_;
  std::atomic<double> next_noon_ = kStart + kDay / 2;
  std::atomic<double> late_ = 0;
  std::atomic<int> looks_left_ = 0;
  std::atomic<int> runs_ = 0;
  std::atomic<bool> begun_while_busy_ = false;
};

TEST_F(FastForwards, EveryDueTimeOnTheWayIsKept) {
  const FastForward forward(page_, site());
  page_->want(kStart + 7 * kDay);
  ASSERT_TRUE(settles());
  EXPECT_EQ(runs_, 7);
  EXPECT_LT(late_, 60) << "the clock stopped at the due times";
  EXPECT_FALSE(begun_while_busy_);
  EXPECT_GE(page_->now(), kStart + 7 * kDay);
}

TEST_F(FastForwards, WithoutAWishTheClockFlows) {
  const FastForward forward(page_, site());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(page_->last_jump().number, 0U);
}

TEST_F(FastForwards, WaitsForTheAgentsToNotice) {
  page_->enter();
  page_->follow(0);
  const FastForward forward(page_, site());
  page_->want(kStart + kDay);
  while (page_->last_jump().number == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(page_->last_jump().number, 1U);
  page_->leave();
  EXPECT_TRUE(settles());
}

}  // namespace
}  // namespace railgauge
