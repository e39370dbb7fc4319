#include "kernels/gpu/session/health.h"

#include <gmock/gmock.h>

#include <array>

#include "kernels/dl/nvml.h"

namespace railgauge::gpu {
namespace {

TEST(ThrottleWords, NameEveryReasonThatHoldsTheClocksDown) {
  EXPECT_EQ(throttle_words(0), "none");
  EXPECT_EQ(throttle_words(ml::kReasonIdle | ml::kReasonApplicationClocks), "none");
  EXPECT_EQ(throttle_words(ml::kReasonPowerCap | ml::kReasonThermal | ml::kReasonIdle),
            "power cap, thermal slowdown by software");
  EXPECT_EQ(throttle_words(ml::kReasonHardwareSlowdown | ml::kReasonPowerBrake),
            "hardware slowdown, power brake");
  EXPECT_EQ(throttle_words(ml::kReasonPowerCap | 0x400), "power cap, reason 0x400");
}

GpuHealth seen(const std::string& name, double mhz) {
  GpuHealth health;
  health.name = name;
  health.sm_clock_mhz.add(mhz);
  health.reason_readings = 1;
  return health;
}

TEST(Health, GivesTheMeanAndTheLowestClock) {
  GpuHealth health = seen("gpu0", 2000);
  health.sm_clock_mhz.add(1000);
  Point point;
  add_health(std::array{health}, point);
  EXPECT_EQ(point.facts().at("sm_clock_mhz"), "1500");
  EXPECT_EQ(point.facts().at("sm_clock_mhz_min"), "1000");
  EXPECT_EQ(point.facts().count("power_w"), 0U);
}

TEST(Health, OfSeveralGpusGivesTheWorst) {
  Point point;
  add_health(std::array{seen("gpu0", 2000), seen("gpu1", 1200)}, point);
  EXPECT_EQ(point.facts().at("sm_clock_mhz"), "1200");
}

TEST(Health, DoesNotTakeGpu1ForGpu10) {
  Point point;
  point.set_pair("gpu10>host");
  add_health(std::array{seen("gpu1", 1200), seen("gpu10", 2000)}, point);
  EXPECT_EQ(point.facts().at("sm_clock_mhz"), "2000");
}

TEST(Health, SaysInHowManyReadingsTheClocksWereDown) {
  GpuHealth health = seen("gpu0", 1000);
  health.reason_readings = 7;
  health.throttled_readings = 2;
  health.reasons = ml::kReasonSyncBoost;
  Point point;
  add_health(std::array{health}, point);
  EXPECT_TRUE(point.throttled());
  EXPECT_EQ(point.facts().at("throttled_readings"), "2 of 7");
  EXPECT_EQ(point.facts().at("throttle_reasons"), "sync boost");
}

TEST(Health, IsThrottledByWhatTheCountersSawOfTheInterval) {
  GpuHealth health = seen("gpu0", 1980);
  health.interval_ns = 50e6;
  health.held = {.known = true, .reasons = ml::kReasonPowerCap, .longest_ns = 50e3};
  Point point;
  add_health(std::array{health}, point);
  EXPECT_TRUE(point.throttled());
  EXPECT_EQ(point.facts().at("throttle_reasons"), "power cap");
  EXPECT_EQ(point.facts().at("throttled_ns"), "50000");
  EXPECT_EQ(point.facts().count("throttled_readings"), 0U);
}

TEST(Health, TellsWhatWasTooShortToMatter) {
  GpuHealth health = seen("gpu0", 1980);
  health.interval_ns = 50e6;
  health.held = {.known = true, .reasons = ml::kReasonPowerCap, .longest_ns = 49e3};
  Point point;
  add_health(std::array{health}, point);
  EXPECT_FALSE(point.throttled());
  EXPECT_EQ(point.facts().at("throttled_ns"), "49000");
}

}  // namespace
}  // namespace railgauge::gpu
