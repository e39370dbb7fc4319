#include "controller/clock/clock_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "controller/clock/next_jump.h"
#include "controller/clock/wall_clock.h"

namespace railgauge {
namespace {

constexpr double kStart = 1'767'571'200;  // 2026-01-05
constexpr double kDay = 24 * 3600;
// The host's time that a test may take.
constexpr double kSlack = 30;

class ClockPages : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ = testing::TempDir() + "clock_page_test_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ClockPages, TimeFlowsFromTheStartAndJumpsAhead) {
  const auto page = ClockPage::make(path_, kStart);
  ASSERT_TRUE(page) << page.error().message;
  const double begin = (*page)->now();
  EXPECT_THAT(begin, testing::AllOf(testing::Ge(kStart), testing::Lt(kStart + kSlack)));
  (*page)->jump(kStart + kDay);
  EXPECT_GE((*page)->now(), kStart + kDay);
  EXPECT_LT((*page)->now(), kStart + kDay + kSlack);
  EXPECT_EQ((*page)->last_jump().number, 1U);
  EXPECT_EQ((*page)->last_jump().to, kStart + kDay);
  EXPECT_NEAR((*page)->last_jump().ahead, kDay, kSlack);
}

TEST_F(ClockPages, NoJumpGoesBack) {
  const auto page = ClockPage::make(path_, kStart);
  ASSERT_TRUE(page);
  (*page)->jump(kStart - kDay);
  EXPECT_GE((*page)->now(), kStart);
  EXPECT_EQ((*page)->last_jump().number, 0U);
}

TEST_F(ClockPages, OtherReadersSeeTheJump) {
  const auto page = ClockPage::make(path_, kStart);
  const auto reader = ClockPage::open(path_);
  ASSERT_TRUE(page && reader);
  (*page)->jump(kStart + kDay);
  EXPECT_GE((*reader)->now(), kStart + kDay);
}

TEST_F(ClockPages, ARestartGoesOnWhereTheClockWas) {
  {
    const auto before = ClockPage::make(path_, kStart);
    ASSERT_TRUE(before);
    (*before)->jump(kStart + kDay);
  }
  const auto page = ClockPage::make(path_, kStart);
  ASSERT_TRUE(page);
  EXPECT_GE((*page)->now(), kStart + kDay);
  EXPECT_EQ((*page)->last_jump().number, 2U) << "a fleet has to notice the restart as well";
  const auto later = ClockPage::make(path_, kStart + 9 * kDay);
  ASSERT_TRUE(later);
  EXPECT_GE((*later)->now(), kStart + 9 * kDay);
}

TEST_F(ClockPages, AFleetThatEnteredIsWaitedForUntilItFollowsOrLeaves) {
  const auto page = ClockPage::make(path_, kStart);
  ASSERT_TRUE(page);
  EXPECT_TRUE((*page)->is_followed());
  EXPECT_FALSE((*page)->has_fleet());
  (*page)->enter();
  EXPECT_TRUE((*page)->has_fleet());
  EXPECT_FALSE((*page)->is_followed()) << "its agents are not attached yet";
  (*page)->follow(0);
  EXPECT_TRUE((*page)->is_followed());
  (*page)->jump(kStart + kDay);
  EXPECT_FALSE((*page)->is_followed());
  (*page)->follow(1);
  EXPECT_TRUE((*page)->is_followed());
  (*page)->jump(kStart + 2 * kDay);
  EXPECT_FALSE((*page)->is_followed());
  (*page)->leave();
  EXPECT_TRUE((*page)->is_followed());
}

// Its lock ends with its descriptors.
TEST_F(ClockPages, AFleetThatWasKilledIsNoFleet) {
  const auto page = ClockPage::make(path_, kStart);
  ASSERT_TRUE(page);
  {
    const auto killed = ClockPage::open(path_);
    ASSERT_TRUE(killed);
    (*killed)->enter();
    EXPECT_TRUE((*page)->has_fleet());
    EXPECT_FALSE((*page)->is_followed());
  }
  EXPECT_FALSE((*page)->has_fleet());
  EXPECT_TRUE((*page)->is_followed());
  const auto next = ClockPage::open(path_);
  ASSERT_TRUE(next);
  (*next)->enter();
  EXPECT_TRUE((*page)->has_fleet());
  EXPECT_FALSE((*page)->is_followed());
}

TEST_F(ClockPages, NoWishIsBeyondWhatAClockCanShow) {
  const auto page = ClockPage::make(path_, kStart);
  ASSERT_TRUE(page);
  (*page)->want(2.5e11);
  EXPECT_EQ((*page)->wanted(), ClockPage::kMostSeconds);
}

TEST_F(ClockPages, ANewWishIsNotSettled) {
  const auto page = ClockPage::make(path_, kStart);
  ASSERT_TRUE(page);
  (*page)->set_settled(true);
  (*page)->want(kStart + kDay);
  EXPECT_FALSE((*page)->is_settled());
  EXPECT_EQ((*page)->wanted(), kStart + kDay);
}

TEST_F(ClockPages, AFileThatIsSomethingElseIsRefusedByName) {
  EXPECT_EQ(ClockPage::open(path_).error().code, Code::kNotFound);
  std::ofstream(path_) << "some text";
  for (const auto& refused : {ClockPage::open(path_), ClockPage::make(path_, kStart)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
    EXPECT_THAT(refused.error().message, testing::HasSubstr(path_));
  }
}

TEST(NextJump, EndsAtTheWantedTime) {
  EXPECT_EQ(next_jump(kStart, kStart + 100, std::nullopt), kStart + 100);
  EXPECT_EQ(next_jump(kStart, kStart, std::nullopt), std::nullopt);
  EXPECT_EQ(next_jump(kStart, kStart + 30 * kDay, std::nullopt), kStart + kLongestJumpSeconds);
}

TEST(NextJump, StopsAMinuteBeforeADueTimeAndThenAtIt) {
  const double due = kStart + 3600;
  EXPECT_EQ(next_jump(kStart, kStart + kDay, due), due - kEarlySeconds);
  EXPECT_EQ(next_jump(due - kEarlySeconds, kStart + kDay, due), due);
  EXPECT_EQ(next_jump(kStart, kStart + 100, due), kStart + 100);
}

// The clock of this process stays simulated: the last test.
TEST_F(ClockPages, TheProcessGoesByTheSimulatedClock) {
  const double host = wall_seconds();
  EXPECT_NEAR(skew_of(host + 7), 7, 1);
  const auto page = ClockPage::make(path_, kStart);
  ASSERT_TRUE(page);
  use_simulated_clock(*page);
  EXPECT_NEAR(wall_seconds(), kStart, kSlack);
  EXPECT_NEAR(calendar_seconds(), kStart, kSlack);
  const double said = wall_seconds() + 7;
  (*page)->jump(kStart + kDay);
  EXPECT_NEAR(skew_of(said), 7, 5) << "a message that the jump overtook";
  EXPECT_NEAR(skew_of(wall_seconds() - 9), -9, 1);
}

}  // namespace
}  // namespace railgauge
