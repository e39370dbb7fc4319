#include "agent/busy/own.h"

#include <unistd.h>

#include <random>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {

class OwnProcessesTest : public testing::Test {
 protected:
  void process(int pid, int parent, int group, int session, double ticks = 0) {
    folder_.write(
        fmt::format("{}/stat", pid),
        fmt::format("{} (a ) name) S {} {} {} 0 -1 4194304 1 0 0 0 {} 0 0 0 20 0 1 0 99\n", pid,
                    parent, group, session, ticks));
  }
  TempDir folder_;
  OwnProcesses own_{folder_.path(), 100};
};

TEST_F(OwnProcessesTest, WhatTheAgentStartedAndAllBelowIsOurs) {
  process(100, 1, 100, 100);
  process(200, 100, 200, 100);  // a runner
  process(201, 200, 200, 100);  // its child
  process(202, 201, 202, 202);  // with a session of its own
  process(300, 1, 300, 300);    // somebody else
  own_.update(std::vector{200}, 1);
  for (const int pid : {100, 200, 201, 202}) EXPECT_TRUE(own_.owns(pid)) << pid;
  EXPECT_FALSE(own_.owns(300));
  EXPECT_FALSE(own_.owns(1));
  EXPECT_FALSE(own_.owns(999)) << "no such process";
}

TEST_F(OwnProcessesTest, AnOrphanOfARunnerIsKnownByItsGroup) {
  process(201, 1, 200, 100);
  own_.update(std::vector{200}, 1);
  EXPECT_TRUE(own_.owns(201));
}

TEST_F(OwnProcessesTest, ARunnerThatHasJustGoneIsRememberedForAWhile) {
  own_.update(std::vector{200}, 1);
  own_.update(std::vector<int>{}, 2);
  EXPECT_TRUE(own_.owns(200)) << "NVML lists it a moment longer";
  own_.update(std::vector<int>{}, 20);
  EXPECT_FALSE(own_.owns(200));
}

TEST_F(OwnProcessesTest, ALoopOfParentsEnds) {
  process(301, 302, 301, 301);
  process(302, 301, 302, 302);
  EXPECT_FALSE(own_.owns(301));
}

TEST_F(OwnProcessesTest, ItsRunnersAreAPartOfTheLoad) {
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  for (int second = 0; second <= 600; ++second) {
    process(200, 100, 200, 100, second * 4 * ticks);  // four CPUs all the time
    own_.update(std::vector{200}, second);
  }
  EXPECT_NEAR(own_.load(), 4, 0.05);
  own_.update(std::vector<int>{}, 660);
  EXPECT_NEAR(own_.load(), 4 / 2.718, 0.1) << "it fades as the load average does";
}

TEST_F(OwnProcessesTest, OurselvesAreSeenInTheRealProc) {
  OwnProcesses real("/proc", ::getppid());
  EXPECT_TRUE(real.owns(::getpid()));
  EXPECT_TRUE(real.shows(::getpid()));
}

TEST(ProcessStat, AnyBytesGiveFactsOrNothing) {
  std::mt19937 random(7);
  const std::string good = "1 (x) S 2 3 4 0 -1 0 1 0 0 0 5 6 0 0\n";
  ASSERT_TRUE(parse_process_stat(good));
  EXPECT_EQ(parse_process_stat(good)->cpu_ticks, 11);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good.substr(0, random() % (good.size() + 1));
    for (int flips = static_cast<int>(random() % 4); flips > 0 && !text.empty(); --flips)
      text[random() % text.size()] = static_cast<char>(random());
    static_cast<void>(parse_process_stat(text));
  }
  for (const char* bad : {"", ")", "1 (x) S", "1 (x) S 2 3 4 0 -1 0 1 0 0 0 5 abc"})
    EXPECT_FALSE(parse_process_stat(bad)) << bad;
}

}  // namespace
}  // namespace railgauge::agent
