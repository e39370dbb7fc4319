// Other users of the GPU: present before, or starting during the measurement.
#include <unistd.h>

#include <chrono>
#include <thread>

#include "kernels/core/base/clock.h"
#include "kernels/gpu/reuse.h"
#include "kernels/testing/gpu_session_fixture.h"

namespace railgauge::gpu {
namespace {

using fake::nvml_control;
using ::testing::HasSubstr;

TEST_F(GpuSession, AGpuInUseWaivesNamingTheProcessAndWhatToDo) {
  nvml_control().busy_pid = 999'999'999;
  const auto session = open({});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(session.error().message,
            "gpu0: it is in use by pid 999999999 (1.2 GB); wait until it is free, or measure "
            "beside it with busy=measure");
}

TEST_F(GpuSession, AGpuInUseIsMeasuredWhenAskedTo) {
  nvml_control().busy_pid = 999'999'999;
  const auto session = open({{"busy", "measure"}});
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(told_.facts["gpu0_in_use_by"], "pid 999999999 (1.2 GB)");
  EXPECT_EQ(told_.notes.size(), 1U);
}

TEST_F(GpuSession, AnotherGpuInUseDoesNotMatter) {
  nvml_control().busy_pid = 999'999'999;
  nvml_control().busy_gpu = 1;
  EXPECT_TRUE(open({}));
  EXPECT_FALSE(open({}, "gpu1"));
}

TEST_F(GpuSession, OurOwnProcessIsNoOtherUser) {
  nvml_control().busy_pid = static_cast<std::uint64_t>(getpid());
  EXPECT_TRUE(open({}));
}

// In a container that shows the host's numbers, as a profile's second kernel in one process is.
TEST_F(GpuSession, OurOwnContextUnderAnotherNumberIsNoOtherUser) {
  const KeepWarm keep;
  nvml_control().foreign_pid = 4242;
  for (int kernel = 0; kernel < 3; ++kernel) {
    const auto session = open({});
    ASSERT_TRUE(session) << kernel << ": " << session.error().message;
    keep_context(session->gpu());
  }
  EXPECT_TRUE(open({{"gpus", "0,1"}}, "", 2)) << "the other GPU shows the same number";
}

TEST_F(GpuSession, AnotherUserBesideOurOwnContextIsSeen) {
  const KeepWarm keep;
  nvml_control().foreign_pid = 4242;
  ASSERT_TRUE(open({}));
  nvml_control().busy_pid = 999'999'999;
  const auto session = open({});
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message, HasSubstr("in use by pid 999999999 (1.2 GB);"));
}

// In such a container another process begins just when our first context does.
TEST_F(GpuSession, OurNumberIsLearnedLaterWhereAnotherCameAtTheSameTime) {
  const KeepWarm keep;
  nvml_control().foreign_pid = 4242;
  nvml_control().busy_pid = 999'999'999;
  nvml_control().busy_after = 1;
  {
    const auto first = open({});  // the two cannot be separated yet
    ASSERT_TRUE(first) << first.error().message;
    keep_context(first->gpu());
  }
  const auto second = open({});
  ASSERT_FALSE(second) << "the other one is still there";
  EXPECT_THAT(second.error().message, HasSubstr("pid 999999999 (1.2 GB)"));
  nvml_control().busy_pid = 0;
  for (int kernel = 0; kernel < 2; ++kernel) {
    const auto later = open({});
    ASSERT_TRUE(later) << later.error().message;
  }
  nvml_control().busy_pid = 999'999'999;
  const auto busy = open({});
  ASSERT_FALSE(busy);
  EXPECT_THAT(busy.error().message, HasSubstr("in use by pid 999999999 (1.2 GB);"));
}

TEST_F(GpuSession, AProcessThatComesWhileItIsMeasuredWaives) {
  auto session = open({}, "", 2);
  ASSERT_TRUE(session) << session.error().message;
  session->begin_point();
  nvml_control().busy_gpu = 1;
  nvml_control().busy_pid = 999'999'999;
  session->end_point();
  const Status alone = session->check_undisturbed(*context_);
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(alone.error().message,
            "gpu1: pid 999999999 (1.2 GB) came to use it while it was measured, so the figure is "
            "not kept; measure again when it is free, or beside it with busy=measure");
}

TEST_F(GpuSession, AProcessThatComesIsToldWithThePointWhereBesideIsAskedFor) {
  auto session = open({{"busy", "measure"}});
  ASSERT_TRUE(session) << session.error().message;
  session->begin_point();
  nvml_control().busy_pid = 999'999'999;
  session->end_point();
  ASSERT_TRUE(session->check_undisturbed(*context_));
  session->report(*context_, Point());
  EXPECT_EQ(told_.points.back().facts().at("in_use_by"), "gpu0: pid 999999999 (1.2 GB)");
  EXPECT_THAT(told_.notes, ::testing::ElementsAre(HasSubstr("came to use it")));
  nvml_control().busy_pid = 0;
  session->begin_point();
  session->end_point();
  ASSERT_TRUE(session->check_undisturbed(*context_));
  session->report(*context_, Point());
  EXPECT_EQ(told_.points.back().facts().count("in_use_by"), 0U) << "it has gone";
}

TEST_F(GpuSession, WhoWasThereBeforeOrElsewhereOrIsUsDidNotCome) {
  nvml_control().busy_pid = 999'999'999;
  auto session = open({{"busy", "measure"}});
  ASSERT_TRUE(session) << session.error().message;
  told_.notes.clear();
  const auto undisturbed = [&] {
    session->begin_point();
    session->end_point();
    return session->check_undisturbed(*context_).has_value() && told_.notes.empty();
  };
  EXPECT_TRUE(undisturbed()) << "was there before";
  nvml_control().busy_gpu = 1;
  nvml_control().busy_pid = 999'999'998;
  EXPECT_TRUE(undisturbed()) << "another GPU";
  nvml_control().busy_gpu = 0;
  nvml_control().busy_pid = static_cast<std::uint64_t>(getpid());
  EXPECT_TRUE(undisturbed()) << "this process";
  nvml_control().no_processes = 1;
  nvml_control().busy_pid = 999'999'997;
  EXPECT_TRUE(undisturbed()) << "NVML does not tell";
}

// In a container that shows the host's numbers.
TEST_F(GpuSession, OurOwnContextUnderAnotherNumberDidNotCome) {
  nvml_control().foreign_pid = 4242;
  auto session = open({});
  ASSERT_TRUE(session) << session.error().message;
  session->begin_point();
  session->end_point();
  EXPECT_TRUE(session->check_undisturbed(*context_));
}

TEST_F(GpuSession, AProcessThatCameAndWentIsSeenInALongInterval) {
  auto session = open({});
  ASSERT_TRUE(session) << session.error().message;
  session->begin_point();
  nvml_control().busy_pid = 999'999'999;
  const std::uint64_t before = nvml_control().process_readings[0];
  const double give_up_ns = monotonic_now_ns() + 20e9;
  while (nvml_control().process_readings[0] == before && monotonic_now_ns() < give_up_ns)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  nvml_control().busy_pid = 0;
  session->end_point();
  EXPECT_FALSE(session->check_undisturbed(*context_));
}

TEST_F(GpuSession, AnXServerOrVulkanProgramIsAnotherUser) {
  nvml_control().graphics_pid = 999'999'999;
  const auto session = open({});
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message, HasSubstr("in use by pid 999999999 (1.2 GB);"));
}

TEST_F(GpuSession, AProcessThatIsNotShownIsSeenByWhatItUses) {
  nvml_control().no_processes = 1;
  nvml_control().utilization = 85;
  const auto session = open({});
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().message, HasSubstr("85 % of the time"));
  EXPECT_THAT(session.error().message, HasSubstr("busy=measure"));
}

TEST_F(GpuSession, WhatRanAMomentAgoFades) {
  nvml_control().utilization = 85;
  nvml_control().utilization_looks = 2;
  EXPECT_TRUE(open({}));
  EXPECT_EQ(nvml_control().utilization_readings, 3U);
}

}  // namespace
}  // namespace railgauge::gpu
