#include "kernels/gpu/session.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "kernels/core/clock.h"
#include "kernels/core/sampling.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/gpu/health.h"
#include "kernels/gpu/reuse.h"
#include "kernels/gpu/usage.h"

namespace railgauge::gpu {
namespace {

using fake::cuda_control;
using fake::nvml_control;
using ::testing::HasSubstr;

KernelInfo info() {
  return InfoBuilder("test.session", 1, "a kernel of this test")
      .apply([](InfoBuilder& builder) { add_session_parameters(builder); })
      .apply([](InfoBuilder& builder) { add_gpus_parameter(builder); })
      .build();
}

class GpuSession : public OnFakes {
 protected:
  void SetUp() override {
    OnFakes::SetUp();
    forget_own_number();
  }
  // A session of the endpoint, or of several GPUs where `minimum` is not 0.
  Result<Session> open(const std::map<std::string, std::string>& given,
                       const std::string& endpoint = "gpu0", std::size_t minimum = 0) {
    params_ = *Params::parse(info(), given);
    context_.emplace(Context{params_, recorder_, fake::test_clock(), endpoint, 0, false});
    return minimum == 0 ? Session::open(*context_) : Session::open_several(*context_, minimum);
  }
  Point measured(Session& session, const std::string& pair = "") {
    session.begin_point();
    Point point;
    point.set_pair(pair);
    session.report(*context_, point);
    return told_.points.back();
  }

  Params params_ = *Params::parse(info(), {});
  fake::RankResult told_;
  fake::Recorder recorder_{told_};
  std::optional<Context> context_;
};

TEST_F(GpuSession, PointsOfAFakeAreSyntheticAndCarryTheClocks) {
  auto session = open({});
  ASSERT_TRUE(session) << session.error().message;
  const Point point = measured(*session);
  EXPECT_TRUE(point.synthetic());
  EXPECT_FALSE(point.throttled());
  EXPECT_EQ(point.facts().at("sm_clock_mhz"), "1980");
  EXPECT_EQ(point.facts().at("sm_clock_mhz_min"), "1980");
  EXPECT_EQ(point.facts().at("memory_clock_mhz"), "2619");
  EXPECT_EQ(point.facts().at("temperature_c"), "41");
  EXPECT_EQ(point.facts().at("power_w"), "123");
  EXPECT_EQ(point.facts().at("pcie_generation"), "5");
  EXPECT_EQ(point.facts().at("pcie_width"), "16");
  EXPECT_EQ(point.facts().at("throttle_reasons"), "none");
}

TEST_F(GpuSession, AnIntervalInWhichTheClocksWereHeldDownSaysByWhat) {
  auto session = open({});
  ASSERT_TRUE(session);
  nvml_control().throttle = ml::kReasonPowerCap | ml::kReasonIdle;
  const Point point = measured(*session);
  EXPECT_TRUE(point.throttled());
  EXPECT_EQ(point.facts().at("throttle_reasons"), "power cap");
  nvml_control().throttle = 0;
  EXPECT_FALSE(measured(*session).throttled());
}

TEST_F(GpuSession, ThrottlingThatBeginsAfterTheIntervalBeganIsSeenAtItsEnd) {
  auto session = open({});
  ASSERT_TRUE(session);
  nvml_control().throttle = ml::kReasonHardwareThermal;
  nvml_control().throttle_after = 1;
  const Point point = measured(*session);
  EXPECT_TRUE(point.throttled());
  EXPECT_EQ(point.facts().at("throttle_reasons"), "thermal slowdown by hardware");
}

// The second reading is the thread's first.
TEST_F(GpuSession, ThrottlingThatEndsBeforeTheIntervalDoesIsReadInBetween) {
  auto session = open({});
  ASSERT_TRUE(session);
  nvml_control().throttle = ml::kReasonPowerBrake;
  nvml_control().throttle_after = 1;
  nvml_control().throttle_until = 2;
  session->begin_point();
  const double give_up_ns = monotonic_now_ns() + 20e9;
  while (nvml_control().reason_readings < 2 && monotonic_now_ns() < give_up_ns)
    std::this_thread::yield();
  session->end_point();
  session->report(*context_, Point());
  EXPECT_TRUE(told_.points.back().throttled());
  EXPECT_EQ(told_.points.back().facts().at("throttle_reasons"), "power brake");
}

// Readings see nothing of it; the counters do, in both ways that drivers tell them.
TEST_F(GpuSession, ThrottlingBetweenTwoReadingsIsSeenByTheCounters) {
  auto session = open({});
  ASSERT_TRUE(session);
  for (const bool older : {false, true}) {
    nvml_control().no_fields = older ? 1 : 0;
    session->begin_point();
    nvml_control().power_held_ns += 60'000'000'000;
    session->end_point();
    nvml_control().heat_held_ns += 60'000'000'000;  // no part of the interval
    session->report(*context_, Point());
    EXPECT_TRUE(told_.points.back().throttled()) << older;
    EXPECT_EQ(told_.points.back().facts().at("throttle_reasons"), "power cap") << older;
    EXPECT_EQ(told_.points.back().facts().at("throttled_ns"), "60000000000") << older;
    EXPECT_FALSE(measured(*session).throttled()) << "what the counters held before";
  }
}

TEST_F(GpuSession, ADriverWithoutCountersIsReadAllTheSame) {
  nvml_control().no_fields = 1;
  nvml_control().no_violations = 1;
  nvml_control().power_held_ns = 5;
  auto session = open({});
  ASSERT_TRUE(session);
  EXPECT_EQ(measured(*session).facts().at("throttle_reasons"), "none");
  nvml_control().throttle = ml::kReasonPowerCap;
  EXPECT_TRUE(measured(*session).throttled());
}

TEST_F(GpuSession, WhatFollowsTheLastSampleIsNoPartOfTheInterval) {
  auto session = open({});
  ASSERT_TRUE(session);
  session->begin_point();
  session->end_point();
  nvml_control().throttle = ml::kReasonHardwareThermal;  // while the bytes are compared
  nvml_control().sm_clock_mhz = 345;
  session->report(*context_, Point());
  EXPECT_FALSE(told_.points.back().throttled());
  EXPECT_EQ(told_.points.back().facts().at("throttle_reasons"), "none");
  EXPECT_EQ(told_.points.back().facts().at("sm_clock_mhz_min"), "1980");
}

TEST_F(GpuSession, PointsOfOneIntervalCarryTheSame) {
  auto session = open({});
  ASSERT_TRUE(session);
  nvml_control().throttle = ml::kReasonPowerCap;
  session->begin_point();
  session->end_point();
  nvml_control().throttle = 0;
  for (int point = 0; point < 2; ++point) {
    session->report(*context_, Point());
    EXPECT_TRUE(told_.points.back().throttled());
  }
  EXPECT_FALSE(measured(*session).throttled());
}

TEST_F(GpuSession, OnlyTheGpusOfAPairCount) {
  nvml_control().throttle = ml::kReasonPowerCap;
  nvml_control().throttle_gpu = 1;
  auto session = open({}, "", 2);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_FALSE(measured(*session, "host>gpu0").throttled());
  EXPECT_TRUE(measured(*session, "gpu0>gpu1").throttled());
  EXPECT_TRUE(measured(*session).throttled());
}

TEST_F(GpuSession, WithoutClocksThereIsNoThrottlingToDeny) {
  nvml_control().no_clocks = 1;
  nvml_control().no_fields = 1;
  nvml_control().no_violations = 1;
  auto session = open({});
  ASSERT_TRUE(session);
  const Point point = measured(*session);
  EXPECT_EQ(point.facts().at("throttle_reasons"), "unknown");
  EXPECT_EQ(point.facts().count("sm_clock_mhz"), 0U);
  EXPECT_EQ(point.facts().at("temperature_c"), "41");
}

TEST_F(GpuSession, AGpuThatNvmlDoesNotShowIsMeasuredAndSaysSo) {
  nvml_control().gpus = 0;
  auto session = open({});
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(told_.facts["nvml"], "not asked: NVML: it does not show gpu0 (0000:e0:00.0)");
  EXPECT_EQ(measured(*session).facts().count("throttle_reasons"), 0U);
}

TEST_F(GpuSession, NvmlThatFailsChangesNoOutcome) {
  for (std::uint64_t call = 1; call < 40; ++call) {
    nvml_control().reset();
    nvml_control().fail_call = call;
    auto session = open({});
    ASSERT_TRUE(session) << call << ": " << session.error().message;
    measured(*session);
  }
}

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
    const auto first = open({});  // which of the two is us cannot be told yet
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

TEST_F(GpuSession, APartitionedGpuWaives) {
  nvml_control().mig = 1;
  const auto session = open({});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(session.error().message, HasSubstr("MIG is on"));
}

TEST_F(GpuSession, SeveralAreThoseNamedInThatOrder) {
  const auto session = open({{"gpus", "1,0"}}, "", 2);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->gpus()[0].name(), "gpu1");
  EXPECT_EQ(told_.facts["device"], "gpu1,gpu0");
  EXPECT_EQ(told_.facts["gpu0_pci_address"], "0000:e0:00.0");
}

TEST_F(GpuSession, FewerGpusThanAPairNeedsWaive) {
  const auto session = open({{"gpus", "1"}}, "", 2);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(session.error().message,
            "gpus 1: 1 of them, and this kernel measures between at least 2");
}

TEST_F(GpuSession, AListThatIsNoneIsWrongUse) {
  for (const char* bad : {"x", "0,", "0,0", "", "0;1"}) {
    const auto session = open({{"gpus", bad}}, "", 1);
    if (std::string_view(bad) == "0,") continue;  // a comma more is nothing
    ASSERT_FALSE(session) << bad;
    EXPECT_EQ(session.error().code, Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace railgauge::gpu
