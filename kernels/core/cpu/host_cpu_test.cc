#include "kernels/core/cpu/host_cpu.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "kernels/core/base/clock.h"
#include "kernels/core/cpu/thread_cpu.h"

namespace railgauge {
namespace {

TEST(HostCpu, CountsAllButIdleAndStolenTime) {
  const auto times = parse_host_cpu("cpu  100 20 30 4000 500 6 70 999 10 0\ncpu0 1 2 3\n", 100);
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_DOUBLE_EQ(times->busy_ns, (100 + 20 + 30 + 6 + 70) * 10e6);
  EXPECT_DOUBLE_EQ(times->irq_ns, 6 * 10e6);
  EXPECT_DOUBLE_EQ(times->softirq_ns, 70 * 10e6);
  EXPECT_DOUBLE_EQ(times->idle_ns, 4500 * 10e6);
}

TEST(HostCpu, RefusesALineOfAnotherForm) {
  for (const char* text : {"", "cpu", "cpu0 1 2 3 4 5 6 7", "cpu  1 2 3 4 5 6",
                           "cpu  1 2 x 4 5 6 7", "cpu  1 2 -3 4 5 6 7", "intr 1 2 3 4 5 6 7"}) {
    const auto times = parse_host_cpu(text, 100);
    ASSERT_FALSE(times) << text;
    EXPECT_EQ(times.error().code, Code::kInternal);
  }
  EXPECT_FALSE(parse_host_cpu("cpu  1 2 3 4 5 6 7", 0));
}

TEST(HostCpu, SlotsAreTheGrowthBetweenReadings) {
  const std::vector<HostCpuTimes> readings{{.busy_ns = 1e9},
                                           {.busy_ns = 1.5e9, .softirq_ns = 0.1e9},
                                           {.busy_ns = 1.4e9, .softirq_ns = 0.1e9},
                                           {.busy_ns = 4e9, .irq_ns = 0.3e9, .softirq_ns = 0.6e9}};
  const HostCpuSlots slots = slots_between(readings, {0, 1e9, 2e9, 3e9});
  ASSERT_EQ(slots.busy.size(), 3U);
  EXPECT_DOUBLE_EQ(slots.busy[0], 0.5);
  EXPECT_DOUBLE_EQ(slots.busy[1], 0) << "a counter that fell";
  EXPECT_DOUBLE_EQ(slots.busy[2], 2.6);
  EXPECT_DOUBLE_EQ(slots.mean_busy, 1);
  EXPECT_DOUBLE_EQ(slots.mean_irq, 0.1);
  EXPECT_DOUBLE_EQ(slots.mean_softirq, 0.2);
  EXPECT_TRUE(slots_between({{}}, {0}).busy.empty());
}

// A GB/s with two busy CPUs, one of which was busy before: a nanosecond a byte.
TEST(HostCpu, CostIsWhatTheTransferAddsPerByte) {
  const HostCpuSlots slots{.busy = {2, 1.5, 0.5}};
  EXPECT_EQ(cost_per_byte(slots, 1, 1e9), (std::vector<double>{1, 0.5, 0}));
  EXPECT_TRUE(cost_per_byte(slots, 1, 0).empty());
}

// A spinning thread is at least one busy CPU less what the host did not give it.
TEST(HostCpu, RecordsTheWorkOfThisHost) {
  auto recorder = HostCpuRecorder::start(100e6);
  ASSERT_TRUE(recorder) << recorder.error().message;
  const double began_cpu_ns = thread_cpu_ns();
  const double began_ns = monotonic_now_ns();
  while (monotonic_now_ns() < began_ns + 1.05e9) {
  }
  const double mine = (thread_cpu_ns() - began_cpu_ns) / (monotonic_now_ns() - began_ns);
  const HostCpuSlots slots = (**recorder).stop();
  ASSERT_GE(slots.busy.size(), 2U);
  EXPECT_LE(slots.busy.size(), 11U);
  EXPECT_GE(slots.mean_busy, mine - 0.15) << "ticks of 10 ms in slots of 100 ms";
  EXPECT_NEAR(std::accumulate(slots.busy.begin(), slots.busy.end(), 0.0) /
                  static_cast<double>(slots.busy.size()),
              slots.mean_busy, 0.2);
}

}  // namespace
}  // namespace railgauge
