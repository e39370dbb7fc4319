#include "agent/busy/guard.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>

#include <gmock/gmock.h>

#include "agent/tasks/task.h"
#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

class GuardTest : public testing::Test {
 protected:
  BusyOptions options() {
    BusyOptions options;
    options.sources = "marker";
    options.marker = folder_ / "busy";
    options.look_seconds = 0.01;
    options.settle_seconds = 0;
    return options;
  }
  static bool until(const std::function<bool()>& met) {
    for (int tries = 0; tries < 2000; ++tries) {
      if (met()) return true;
      ::usleep(5000);
    }
    return false;
  }
  TempDir folder_;
  std::atomic<int> rings_ = 0;
};

TEST_F(GuardTest, BeforeItsFirstLookTheNodeIsBusy) {
  const BusyGuard guard(options(), *read_busy_sources(options()), [] {});
  EXPECT_THAT(in_words(guard.reasons()), HasSubstr("guard: the first look has not ended"));
}

TEST_F(GuardTest, TellsWhenAMarkerComesAndGoes) {
  BusyGuard guard(options(), *read_busy_sources(options()), [this] { ++rings_; });
  guard.start(10);
  EXPECT_TRUE(guard.reasons().empty());
  folder_.write("busy", "x");
  EXPECT_TRUE(until([&] { return !guard.reasons().empty(); }));
  const int rings = rings_;
  EXPECT_GE(rings, 1);
  std::filesystem::remove(folder_ / "busy");
  EXPECT_TRUE(until([&] { return guard.reasons().empty() && rings_ > rings; }));
}

bool has_word(const BusyReasons& reasons, const std::string& word) {
  return in_words(reasons).find(word) != std::string::npos;
}

// The hanging command must be in progress when the marker appears. Between two looks it may not be;
// then the attempt is repeated.
TEST_F(GuardTest, ASlowCommandKeepsNoOtherSourceFromBeingSeen) {
  folder_.write("hook", "#!/bin/sh\nexec sleep 60\n");
  std::filesystem::permissions(folder_ / "hook", std::filesystem::perms::owner_all);
  BusyOptions given = options();
  given.sources = "marker,hook";
  given.hook = folder_ / "hook";
  bool both = false;
  for (int tries = 0; tries < 20 && !both; ++tries) {
    std::filesystem::remove(folder_ / "busy");
    BusyGuard guard(given, *read_busy_sources(given), [] {});
    guard.start(0);
    folder_.write("busy", "x");
    ASSERT_TRUE(until([&] { return has_word(guard.reasons(), "marker: "); }));
    both = has_word(guard.reasons(), "the first look has not ended yet, it is at hook");
  }
  EXPECT_TRUE(both);
}

TEST_F(GuardTest, ACommandThatDoesNotEndWithinItsDeadlineIsBusy) {
  folder_.write("hook", "#!/bin/sh\nexec sleep 60\n");
  std::filesystem::permissions(folder_ / "hook", std::filesystem::perms::owner_all);
  BusyOptions given = options();
  given.sources = "hook";
  given.hook = folder_ / "hook";
  BusyGuard guard(given, *read_busy_sources(given), [this] { ++rings_; });
  guard.start(10);
  EXPECT_TRUE(until([&] { return has_word(guard.reasons(), "hook: cannot be read"); }));
  EXPECT_THAT(in_words(guard.reasons()), HasSubstr("no end after 0.8 s"));
}

TEST_F(GuardTest, EveryEyesReasonsAreTold) {
  folder_.write("hook", "#!/bin/sh\necho reserved\nexit 1\n");
  std::filesystem::permissions(folder_ / "hook", std::filesystem::perms::owner_all);
  folder_.write("busy", "x");
  BusyOptions given = options();
  given.sources = "marker,hook";
  given.hook = folder_ / "hook";
  BusyGuard guard(given, *read_busy_sources(given), [] {});
  guard.start(10);
  EXPECT_TRUE(until([&] {
    return has_word(guard.reasons(), "marker: ") && has_word(guard.reasons(), "hook: reserved");
  }));
}

// The worst case: a job arrives right after a look at the slow sources, and the runner ignores
// Cancel and TERM. The rest of the promised 2 s is left for the sources' answers.
TEST(GiveWay, WithinTwoSecondsByTheDefaults) {
  const BusyOptions busy;
  const TaskOptions task;
  EXPECT_LE(busy.slow_look_seconds_running + busy.look_seconds_running + 2 * task.yield_seconds,
            1.6);
  EXPECT_LE(busy.look_seconds_running + 2 * task.yield_seconds, 0.85);  // marker, Slurm, load
}

TEST_F(GuardTest, WithoutSourcesNothingIsSaid) {
  BusyOptions none = options();
  none.sources = "none";
  BusyGuard guard(none, *read_busy_sources(none), [] {});
  guard.start(10);
  EXPECT_FALSE(guard.looks());
  EXPECT_TRUE(guard.reasons().empty());
}

}  // namespace
}  // namespace railgauge::agent
