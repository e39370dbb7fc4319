#include "agent/busy/readers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include <gmock/gmock.h>

#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BusyReaders : public testing::Test {
 protected:
  std::set<std::string> jobs(const std::string& markers = "") {
    const auto view = read_slurm_jobs(folder_ / "cg", markers, folder_ / "proc");
    EXPECT_TRUE(view) << view.error().message;
    present_ = view && view->present;
    return view ? view->jobs : std::set<std::string>{};
  }
  TempDir folder_;
  bool present_ = false;
};

TEST_F(BusyReaders, AMarkerSaysWhatItSaysOrThatItIsThere) {
  EXPECT_FALSE(*read_marker(folder_ / "no/such/marker"));
  folder_.write("marker", "maintenance by ann\nmore\n");
  EXPECT_THAT(**read_marker(folder_ / "marker"), HasSubstr("maintenance by ann"));
  folder_.write("empty", "");
  EXPECT_THAT(**read_marker(folder_ / "empty"), HasSubstr("empty is there"));
  folder_.write("bytes", std::string("\xff\x00\x1b[31m", 7));
  EXPECT_TRUE(*read_marker(folder_ / "bytes"));
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(*read_marker(folder_ / "pipe")) << "and it did not wait for a writer";
}

TEST_F(BusyReaders, AMarkerThatCannotBeLookedForIsAnError) {
  std::filesystem::create_symlink("loop", folder_ / "loop");
  EXPECT_FALSE(read_marker(folder_ / "loop"));
}

TEST_F(BusyReaders, JobsAreSeenInTheUnifiedTree) {
  folder_.write("cg/system.slice/slurmstepd.scope/job_4711/cgroup.events",
                "populated 1\nfrozen 0\n");
  folder_.write("cg/system.slice/slurmstepd.scope/job_4712/cgroup.events", "populated 0\n");
  folder_.write("cg/system.slice/slurmstepd.scope/system/x", "");
  folder_.write("cg/system.slice/n1_slurmstepd.scope/job_13/x", "");
  folder_.write("cg/system.slice/other.scope/job_1/x", "");
  EXPECT_THAT(jobs(), ElementsAre("13", "4711")) << "4712 was left behind empty";
}

TEST_F(BusyReaders, JobsThatSlurmNamesBySluidAreSeen) {
  const std::string scope = "cg/system.slice/slurmstepd.scope/";
  folder_.write(scope + "cgroup.procs", "");
  folder_.write(scope + "system/cgroup.procs", "1\n");
  EXPECT_THAT(jobs(), IsEmpty());
  folder_.write(scope + "sEKNKTV3WPV500/step_0/user/task_0/cgroup.procs", "77\n");
  folder_.write(scope + "sEKNKTV3WPV501/cgroup.events", "populated 0\n");
  EXPECT_THAT(jobs(), ElementsAre("sEKNKTV3WPV500"));
}

TEST_F(BusyReaders, JobsAreSeenInWhateverSliceSlurmWasGiven) {
  folder_.write("cg/slow.slice/slurmstepd.scope/job_1/x", "");
  folder_.write("cg/slow.slice/slow-gpu.slice/n1_slurmstepd.scope/job_2/x", "");
  folder_.write("cg/unified/system.slice/slurmstepd.scope/job_3/x", "");
  folder_.write("cg/slurmstepd.scope/job_4/x", "");
  EXPECT_THAT(jobs(), ElementsAre("1", "2", "3", "4"));
}

TEST_F(BusyReaders, OnlyAPlainZeroSaysThatAJobIsGone) {
  const std::string job = "cg/system.slice/slurmstepd.scope/job_5/cgroup.events";
  for (const char* events : {"populated\n", "populated x\n", "populated 1\n", "\xff", "", "0"}) {
    folder_.write(job, events);
    EXPECT_THAT(jobs(), ElementsAre("5")) << testing::PrintToString(events);
  }
}

TEST_F(BusyReaders, AFolderOfMarkersThatCannotBeLookedForIsAnError) {
  std::filesystem::create_symlink("loop", folder_ / "loop");
  folder_.write("file", "");
  for (const char* markers : {"loop", "file"})
    EXPECT_FALSE(read_slurm_jobs(folder_ / "cg", folder_ / markers, folder_ / "proc")) << markers;
}

TEST_F(BusyReaders, JobsAreSeenInTheDividedTrees) {
  folder_.write("cg/memory/slurm/uid_1000/job_7/step_0/x", "");
  folder_.write("cg/freezer/slurm_n1/uid_0/job_8/x", "");
  folder_.write("cg/cpuset/docker/uid_0/job_9/x", "");
  EXPECT_THAT(jobs(), ElementsAre("7", "8"));
}

TEST_F(BusyReaders, WithoutSlurmNothingIsPresent) {
  EXPECT_THAT(jobs(), IsEmpty());
  EXPECT_FALSE(present_);
  folder_.write("cg/system.slice/slurmstepd.scope/system/x", "");
  EXPECT_THAT(jobs(), IsEmpty());
  EXPECT_TRUE(present_) << "slurmd is there and runs nothing";
}

TEST_F(BusyReaders, AFolderOfMarkersThatEverybodyMayWriteIsAnError) {
  folder_.write("jobs/99", "");
  for (const auto mode : {0777, 01777, 0757}) {
    ASSERT_EQ(::chmod((folder_ / "jobs").c_str(), static_cast<mode_t>(mode)), 0);
    const auto view = read_slurm_jobs(folder_ / "cg", folder_ / "jobs", folder_ / "proc");
    ASSERT_FALSE(view) << mode;
    EXPECT_THAT(view.error().message, HasSubstr("everybody may write this folder"));
  }
}

TEST_F(BusyReaders, APrologsMarkersAreJobs) {
  folder_.write("jobs/99", "");
  folder_.write("jobs/.tmp", "");
  EXPECT_THAT(jobs(folder_ / "jobs"), ElementsAre("99"));
}

TEST_F(BusyReaders, ATreeThatCannotBeListedIsAnError) {
  std::filesystem::create_directories(folder_ / "cg/system.slice");
  std::filesystem::create_symlink("loop", folder_ / "cg/system.slice/slurmstepd.scope");
  std::filesystem::create_symlink("slurmstepd.scope", folder_ / "cg/system.slice/loop");
  EXPECT_FALSE(read_slurm_jobs(folder_ / "cg", "", folder_ / "proc"));
}

TEST(CgroupPaths, TheAgentsOwnJobIsFoundInItsPath) {
  EXPECT_THAT(jobs_in_cgroup_paths("0::/system.slice/slurmstepd.scope/job_42/step_0/user\n"),
              ElementsAre("42"));
  EXPECT_THAT(jobs_in_cgroup_paths("5:memory:/slurm/uid_0/job_7\n1:name=systemd:/\n"),
              ElementsAre("7"));
  EXPECT_THAT(jobs_in_cgroup_paths("0::/a.slice/n1_slurmstepd.scope/sEKN/step_0/user\n"),
              ElementsAre("sEKN"));
  EXPECT_THAT(jobs_in_cgroup_paths("0::/system.slice/slurmstepd.scope/system\n"), IsEmpty());
  EXPECT_THAT(jobs_in_cgroup_paths("0::/docker/job_3\n"), IsEmpty());
  EXPECT_THAT(jobs_in_cgroup_paths("0::/slurm/job_/x\n0::/slurm/job_4a\n"), IsEmpty());
  std::mt19937 random(3);
  for (int i = 0; i < 5'000; ++i) {
    std::string text = "0::/slurm/job_42/step_0\n1:x:/slurm/job_9";
    for (int flips = 0; flips < 6; ++flips)
      text[random() % text.size()] = static_cast<char>(random());
    static_cast<void>(jobs_in_cgroup_paths(text));
  }
}

TEST(LoadAverage, IsANumberOrNothing) {
  EXPECT_EQ(parse_load("12.50 3.00 1.00 2/345 6789"), 12.5);
  for (const char* bad : {"", "x", "-1 0 0", "nan", "inf 1 1"})
    EXPECT_FALSE(parse_load(bad)) << bad;
  EXPECT_TRUE(read_load("/proc"));
  EXPECT_FALSE(read_load("/nonexistent"));
}

class Hook : public testing::Test {
 protected:
  std::vector<std::string> script(const std::string& text) {
    folder_.write("hook", "#!/bin/sh\n" + text + "\n");
    std::filesystem::permissions(folder_ / "hook", std::filesystem::perms::owner_all);
    return {folder_ / "hook"};
  }
  TempDir folder_;
};

TEST_F(Hook, ExitCodeZeroIsIdleOneIsBusyWithItsWords) {
  EXPECT_FALSE(*ask_hook(script("exit 0"), 5));
  EXPECT_EQ(**ask_hook(script("echo reserved for ann; echo more; exit 1"), 5), "reserved for ann");
}

TEST_F(Hook, AnythingElseIsAnError) {
  EXPECT_THAT(ask_hook(script("echo oops >&2; exit 2"), 5).error().message, HasSubstr("oops"));
  EXPECT_FALSE(ask_hook({folder_ / "missing"}, 5));
  EXPECT_FALSE(ask_hook(script("kill -9 $$"), 5));
  EXPECT_EQ(ask_hook(script("sleep 60"), 0.1).error().code, Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace railgauge::agent
