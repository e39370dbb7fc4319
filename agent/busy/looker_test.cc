// All sources of a node that is a tree of files.
#include "agent/busy/looker.h"

#include <filesystem>

#include <gmock/gmock.h>

#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;
using testing::IsEmpty;

class LookerTest : public testing::Test {
 protected:
  BusyOptions options(const std::string& sources) {
    BusyOptions options;
    options.sources = sources;
    options.sysfs_root = folder_ / "sys";
    options.proc_root = folder_ / "proc";
    options.marker = folder_ / "run/busy";
    options.jobs_folder = folder_ / "run/jobs";
    options.kubelet_socket = folder_ / "kubelet.sock";
    options.settle_seconds = 0;
    return options;
  }
  std::string words(Looker& looker, double now) {
    return in_words(looker.look({}, now, [](const char*) {}));
  }
  std::string words(const BusyOptions& options) {
    const auto sources = read_busy_sources(options);
    EXPECT_TRUE(sources) << sources.error().message;
    Looker looker(options, *sources, 1);
    return words(looker, 1);
  }
  TempDir folder_;
};

TEST_F(LookerTest, ANodeOnWhichNothingIsPresentIsIdle) { EXPECT_EQ(words(options("auto")), ""); }

TEST_F(LookerTest, AConfiguredSourceThatCannotBeReadIsBusy) {
  for (const char* source : {"slurm", "kubernetes", "load"}) {
    const std::string said = words(options(source));
    EXPECT_THAT(said, HasSubstr(std::string(source) + ": cannot be read")) << source;
  }
  BusyOptions hook = options("hook");
  hook.hook = folder_ / "missing";
  EXPECT_THAT(words(hook), HasSubstr("hook: cannot be read"));
}

TEST_F(LookerTest, AMarkerSpeaksAndFallsSilent) {
  const BusyOptions given = options("auto");
  Looker looker(given, *read_busy_sources(given), 1);
  EXPECT_EQ(words(looker, 1), "");
  folder_.write("run/busy", "maintenance");
  EXPECT_THAT(words(looker, 2), HasSubstr("marker: "));
  std::filesystem::remove(folder_ / "run/busy");
  EXPECT_EQ(words(looker, 3), "");
}

TEST_F(LookerTest, AJobOfSlurmIsSeenWithoutBeingConfigured) {
  folder_.write("sys/fs/cgroup/system.slice/slurmstepd.scope/job_42/x", "");
  EXPECT_EQ(words(options("auto")), "slurm: job 42 here");
  EXPECT_EQ(words(options("marker")), "") << "only what is named is looked at";
}

TEST_F(LookerTest, AKubeletThatWentAwayIsBusyOnceItWasSeen) {
  const BusyOptions given = options("auto");
  Looker looker(given, *read_busy_sources(given), 1);
  EXPECT_EQ(words(looker, 1), "");
  folder_.write("kubelet.sock", "");  // exists, but does not answer
  EXPECT_THAT(words(looker, 10), HasSubstr("kubernetes: cannot be read"));
  std::filesystem::remove(folder_ / "kubelet.sock");
  EXPECT_THAT(words(looker, 20), HasSubstr("kubernetes: cannot be read"));
}

TEST_F(LookerTest, AKubeletThatNobodyLetsUsLookAtIsNotCalledAbsent) {
  // A loop of links simulates a folder of root: access fails with another error than "not found".
  std::filesystem::create_symlink("loop", folder_ / "loop");
  BusyOptions given = options("auto");
  given.kubelet_socket = folder_ / "loop/kubelet.sock";
  EXPECT_THAT(words(given), HasSubstr("kubernetes: cannot be read"));
}

TEST_F(LookerTest, LoadCountsOnlyAboveALimit) {
  folder_.write("proc/loadavg", "5000.0 1 1 1/1 1\n");
  EXPECT_EQ(words(options("auto")), "");
  EXPECT_THAT(words(options("load")), HasSubstr("load: load 5000.0"));
}

TEST_F(LookerTest, WhatSpeaksIsToldBeforeTheNextIsAsked) {
  BusyOptions given = options("marker,hook");
  folder_.write("run/busy", "maintenance");
  given.hook = "/bin/true";
  Looker looker(given, *read_busy_sources(given), 1);
  std::string order;
  looker.look(
      {}, 1, [&](const char* source) { order += std::string(source) + ";"; },
      [&](const BusyReasons& said) { order += "found " + said.front().source + ";"; });
  EXPECT_EQ(order, "marker;found marker;hook;;");
}

TEST(BusySources, AreNamesThatThereAre) {
  const auto error = [](const std::string& text) {
    BusyOptions options;
    options.sources = text;
    const auto sources = read_busy_sources(options);
    return sources ? std::string() : sources.error().message;
  };
  EXPECT_EQ(error("auto"), "");
  EXPECT_EQ(error("none"), "");
  EXPECT_EQ(error("marker, gpu"), "");
  EXPECT_THAT(error("slurn"), HasSubstr("did you mean \"slurm\"?"));
  EXPECT_THAT(error("hook"), HasSubstr("--busy-hook"));
  EXPECT_NE(error(""), "");
  BusyOptions options;
  options.gpu_percent = 101;
  EXPECT_FALSE(read_busy_sources(options));
}

}  // namespace
}  // namespace railgauge::agent
