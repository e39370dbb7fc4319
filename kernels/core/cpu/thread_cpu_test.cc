#include "kernels/core/cpu/thread_cpu.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

namespace railgauge {
namespace {

using Facts = std::map<std::string, std::string>;

void spin_until_cpu_ns(double until_ns) {
  while (thread_cpu_ns() < until_ns) {
  }
}

TEST(CpuTime, GrowsWithTheWorkOfThisThreadAndNotWithThatOfOthers) {
  const double before_ns = thread_cpu_ns();
  std::thread other([] { spin_until_cpu_ns(thread_cpu_ns() + 50e6); });
  other.join();  // asleep meanwhile
  const double asleep_ns = thread_cpu_ns() - before_ns;
  EXPECT_LT(asleep_ns, 40e6);
  spin_until_cpu_ns(thread_cpu_ns() + 5e6);
  EXPECT_GE(thread_cpu_ns() - before_ns, asleep_ns + 5e6);
}

TEST(CpuTime, BandwidthCostIsPerGigabyteAndPerMillionMessages) {
  Facts facts;
  add_bandwidth_cost({.cpu_ns = 2e9, .messages = 1e6}, 1000, "peer_", facts);
  EXPECT_EQ(facts.at("peer_cpu_seconds_per_gigabyte"), "2");
  EXPECT_EQ(facts.at("peer_cpu_seconds_per_million_messages"), "2");
}

TEST(CpuTime, LatencyCostIsPerMessage) {
  Facts facts;
  add_latency_cost({.cpu_ns = 1500, .messages = 2}, "", facts);
  EXPECT_EQ(facts.at("cpu_ns_per_message"), "750");
}

TEST(CpuTime, AnEndWithoutMessagesHasNoCost) {
  Facts facts;
  add_bandwidth_cost({.cpu_ns = 100}, 8, "", facts);
  add_latency_cost({.cpu_ns = 100}, "", facts);
  EXPECT_TRUE(facts.empty());
}

}  // namespace
}  // namespace railgauge
