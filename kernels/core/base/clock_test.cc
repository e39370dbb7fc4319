#include "kernels/core/base/clock.h"

#include <sched.h>

#include <cmath>

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace railgauge {
namespace {

constexpr TickClock::Options kShort{.calibration_seconds = 0.02};

TEST(MonotonicNow, NeverGoesBack) {
  double last = monotonic_now_ns();
  for (int i = 0; i < 1000; ++i) {
    const double now = monotonic_now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clocksource, OnlyTheOnesBuiltOnTheCounterAreTrusted) {
  EXPECT_TRUE(clocksource_trusts_counter("tsc"));
  EXPECT_TRUE(clocksource_trusts_counter("kvm-clock"));
  EXPECT_TRUE(clocksource_trusts_counter("arch_sys_counter"));
  EXPECT_FALSE(clocksource_trusts_counter("hpet"));
  EXPECT_FALSE(clocksource_trusts_counter("acpi_pm"));
  EXPECT_FALSE(clocksource_trusts_counter("refined-jiffies"));
  EXPECT_FALSE(clocksource_trusts_counter(""));
}

TEST(TickClock, WithoutTheCounterItIsMonotonicRawAndSaysWhy) {
  const TickClock clock =
      TickClock::calibrate({.calibration_seconds = 0.02, .allow_counter = false});
  EXPECT_STREQ(clock.source(), "monotonic_raw");
  EXPECT_EQ(clock.fallback_reason(), fmt::format("{} was not allowed", TickClock::kCounterName));
  EXPECT_EQ(clock.ns_per_tick(), 1);
  EXPECT_EQ(clock.drift_ppm(), 0);
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  const double raw_ns = static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  EXPECT_GE(clock.now_ns(), raw_ns);
}

TEST(TickClock, NamesTheCounterOfItsArchitecture) {
#if defined(__x86_64__)
  EXPECT_STREQ(TickClock::kCounterName, "tsc");
#elif defined(__aarch64__)
  EXPECT_STREQ(TickClock::kCounterName, "cntvct");
#endif
}

TEST(TickClock, SaysEitherTheCounterOrTheReasonWhyNot) {
  const TickClock clock = TickClock::calibrate(kShort);
  const bool by_counter = std::string_view(clock.source()) == TickClock::kCounterName;
  EXPECT_EQ(by_counter, clock.fallback_reason().empty()) << clock.fallback_reason();
  RecordProperty("source", clock.source());
}

TEST(TickClock, TicksAdvanceInStepsAndCostSomething) {
  const TickClock clock = TickClock::calibrate(kShort);
  EXPECT_GT(clock.ns_per_tick(), 0);
  EXPECT_GE(clock.overhead_ns(), 0);
  EXPECT_GT(clock.granularity_ns(), 0);
  std::uint64_t last = clock.ticks();
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = clock.ticks();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(TickClock, CalibrationLeavesTheThreadsAffinityAsItWas) {
  cpu_set_t before;
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  TickClock::calibrate(kShort);
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(TickClock, DriftIsAFiniteNumberRightAfterCalibration) {
  const TickClock clock = TickClock::calibrate(kShort);
  EXPECT_TRUE(std::isfinite(clock.drift_ppm()));
}

}  // namespace
}  // namespace railgauge
