#include "kernels/host_cost/host_cost.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

namespace railgauge {
namespace {

using ::testing::HasSubstr;

HostCostWords words_of(const std::vector<double>& busy, double before) {
  HostCostWords words;
  words.set_busy_before(before);
  words.mutable_busy()->Assign(busy.begin(), busy.end());
  words.set_softirq(0.5);
  words.set_slot_ns(200e6);
  return words;
}

TEST(HostCost, IsTheBusyCpusLessThoseBeforeOverTheRate) {
  std::string refusal;
  const std::vector<double> busy(10, 1.6);
  const auto point = host_cost_point(words_of(busy, 0.1), 1.5e9, "target", 65536, refusal);
  ASSERT_TRUE(point) << refusal;
  EXPECT_DOUBLE_EQ(point->median(), 1);  // one CPU and a half for 1.5 bytes a nanosecond
  EXPECT_EQ(point->metric(), "host_cpu_ns_per_byte");
  EXPECT_EQ(point->meaning(), "target");
  EXPECT_EQ(point->unit(), "ns_per_byte");
  EXPECT_FALSE(point->larger_is_better());
  EXPECT_EQ(point->facts().at("softirq_cpus"), "0.500");
  EXPECT_EQ(point->sample_count(), 10);
  EXPECT_GT(point->median_low(), 0);
}

TEST(HostCost, HasNoFigureWithoutAnIdleHostOrASlot) {
  std::string refusal;
  HostCostWords words = words_of({1, 1}, 0.9);
  words.set_reason("0.90 CPUs are busy without it");
  EXPECT_FALSE(host_cost_point(words, 1e9, "initiator", 8, refusal));
  EXPECT_EQ(refusal, "0.90 CPUs are busy without it");
  EXPECT_FALSE(host_cost_point(words_of({}, 0), 1e9, "initiator", 8, refusal));
  EXPECT_FALSE(host_cost_point(words_of({1}, 0), 0, "initiator", 8, refusal));
  EXPECT_EQ(refusal, "nothing moved");
}

// On this machine, idle or not: a meter says figures or a reason.
TEST(HostCost, AMeterHasSlotsOrSaysWhyNot) {
  HostCostMeter meter(true);
  meter.look_before();
  meter.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(450));
  const HostCostWords words = meter.stop();
  if (words.reason().empty())
    EXPECT_GE(words.busy_size(), 2);
  else
    EXPECT_THAT(words.reason(), HasSubstr("not idle"));
  EXPECT_EQ(meter.stop().SerializeAsString(), words.SerializeAsString());
}

TEST(HostCost, AMeterThatNobodyWantsMeasuresNothing) {
  HostCostMeter meter(false);
  meter.look_before();
  meter.start();
  EXPECT_EQ(meter.stop().busy_size(), 0);
}

}  // namespace
}  // namespace railgauge
