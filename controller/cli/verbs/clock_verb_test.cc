// `clock`: the wish that it leaves in the clock's file, and how long it waits. A thread is the
// controller.
#include <chrono>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>

#include "controller/cli/testing/commands_testing.h"
#include "controller/clock/clock_page.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;

constexpr double kStartOfClock = 1'767'571'200;  // 2026-01-05
constexpr double kDayOfClock = 24 * 3600;

class ClockVerb : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    std::filesystem::remove(path_);
    page_ = *ClockPage::make(path_, kStartOfClock);
  }
  void TearDown() override {
    std::filesystem::remove(path_);
    Commands::TearDown();
  }
  // Until somebody wants the clock to move.
  void await_wish() const {
    constexpr int kMostLooks = 2'000;
    for (int look = 0; look < kMostLooks && page_->wanted() == 0; ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  const std::string path_ = testing::TempDir() + "clock_verb_test_page";
  std::shared_ptr<ClockPage> page_;
};

// It was at the wanted time, and what was due had not ended.
TEST_F(ClockVerb, AControllerThatStartsAgainAtTheWantedTimeIsAskedToSettle) {
  std::jthread controller([this] {
    await_wish();
    page_->jump(page_->wanted());
    page_ = *ClockPage::make(path_, kStartOfClock);
    await_wish();
    page_->set_settled(true);
  });
  EXPECT_EQ(run({"clock", path_, "3d", "--wait", "20s"}), kExitPassed) << err_;
  EXPECT_GE(page_->now(), kStartOfClock + 3 * kDayOfClock);
}

TEST_F(ClockVerb, ATimeBeyondWhatAClockShowsIsRefused) {
  EXPECT_EQ(run({"clock", path_, "9999-01-01"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("\"9999-01-01\" is beyond 2199, the last year that it shows"));
  EXPECT_EQ(page_->wanted(), 0);
}

}  // namespace
}  // namespace railgauge::cli
