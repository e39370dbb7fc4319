#include "kernels/gpu/session/session.h"

#include <thread>

#include "kernels/core/base/clock.h"
#include "kernels/core/sampling.h"
#include "kernels/fakes/fake_uuid.h"
#include "kernels/gpu/session/health.h"
#include "kernels/testing/gpu_session_fixture.h"

namespace railgauge::gpu {
namespace {

using fake::nvml_control;
using ::testing::HasSubstr;

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

// Readings miss it; the counters show it, in both ways that drivers report them.
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

// A still watch reads before and after, however long the samples take, and the counters still show
// what was between.
TEST_F(GpuSession, AStillWatchReadsNothingBesideTheSamples) {
  auto session = open({{"watch", "still"}});
  ASSERT_TRUE(session);
  session->begin_point();
  const std::uint64_t before = nvml_control().calls;
  EXPECT_GT(nvml_control().reason_readings, 0U);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // a running watch reads three times
  EXPECT_EQ(nvml_control().calls, before);
  nvml_control().power_held_ns += 60'000'000'000;
  session->end_point();
  session->report(*context_, Point());
  EXPECT_EQ(told_.points.back().facts().at("sm_clock_mhz"), "1980");
  EXPECT_EQ(told_.points.back().facts().at("throttle_reasons"), "power cap");
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

TEST_F(GpuSession, APartitionedGpuWaives) {
  nvml_control().mig = 1;
  const auto session = open({});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(session.error().message, HasSubstr("MIG is on"));
}

TEST_F(GpuSession, ASliceIsMeasuredUnderItsOwnName) {
  fake::cuda_control().mig = 1;
  nvml_control().mig = 1;
  const auto session = open({{"slices", "measure"}});
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(told_.facts["gpu_slice"], "1g.18gb");
  EXPECT_EQ(told_.facts["gpu_slice_uuid"], "MIG-66616b65-0001-4000-8000-726700000000");
  const auto both = open({{"slices", "measure"}, {"gpus", "all"}}, "", 2);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(told_.facts["gpu_slice_uuid"],
            "MIG-66616b65-0001-4000-8000-726700000000,MIG-66616b65-0001-4000-8000-726700000001");
}

// CUDA shows the slice of the host's second GPU as gpu0, whose series it must not get.
TEST_F(GpuSession, ASliceOfAnotherGpuThanTheNameSaysWaives) {
  fake::cuda_control().mig = 1;
  nvml_control().mig = 1;
  nvml_control().first_bus = fake::fake_bus(0) - 1;
  const auto session = open({{"slices", "measure"}});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(session.error().message, HasSubstr("the slice that CUDA shows is of gpu1"));
  nvml_control().first_bus = 1;
  const auto unknown = open({{"slices", "measure"}});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("NVML does not list the GPU of this slice"));
}

TEST_F(GpuSession, SeveralAreThoseNamedInThatOrder) {
  const auto session = open({{"gpus", "1,0"}}, "", 2);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(session->gpus()[0].name(), "gpu1");
  EXPECT_EQ(told_.facts["device"], "gpu1,gpu0");
  EXPECT_EQ(told_.facts["gpu0_pci_address"], "0000:e0:00.0");
}

TEST_F(GpuSession, SeveralMayBeNamedByTheirUuids) {
  const std::string first = "GPU-66616b65-0000-4000-8000-726700000000";
  const std::string second = "GPU-66616b65-0000-4000-8000-726700000001";
  const auto session = open({{"gpus", second + "," + first}}, "", 2);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(told_.facts["device"], "gpu1,gpu0");
  const auto twice = open({{"gpus", first + "," + first}}, "", 2);
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("is named twice"));
  const auto absent = open({{"gpus", first + ",GPU-0"}}, "", 2);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kInvalidArgument);
  EXPECT_EQ(absent.error().message,
            "gpus: no GPU here has the UUID \"GPU-0\"; `nvidia-smi -L` lists them");
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
