#include "kernels/host_cost/host_cost.h"

#include <gmock/gmock.h>

#include <array>
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

class ReporterOfAll final : public Reporter {
 public:
  void point(Point point) override { points.push_back(std::move(point)); }
  void note(std::string_view /*severity*/, std::string text) override {
    notes.push_back(std::move(text));
  }
  void fact(std::string_view /*name*/, std::string /*value*/) override {}
  std::vector<Point> points;
  std::vector<std::string> notes;
};

TEST(HostCost, IsReportedForEachEndThatHasAFigure) {
  std::array ends{words_of(std::vector<double>(10, 1.5), 0), words_of({}, 0)};
  ends[0].set_boot("one");
  ends[1].set_boot("other");
  ends[1].set_reason("0.90 CPUs are busy without it");
  ReporterOfAll kept;
  report_host_costs(kept, "mlx5_0:1", ends, {.bytes_per_second = 1.5e9, .message_bytes = 8});
  ASSERT_EQ(kept.points.size(), 1U);
  EXPECT_EQ(kept.points[0].meaning(), "initiator");
  EXPECT_EQ(kept.points[0].facts().at("hosts"), "one of each end");
  EXPECT_FALSE(kept.points[0].synthetic());
  ASSERT_EQ(kept.notes.size(), 1U);
  EXPECT_EQ(kept.notes[0],
            "mlx5_0:1: no host_cpu_ns_per_byte of the target: 0.90 CPUs are busy without it");
}

TEST(HostCost, OfBothEndsInOneHostSaysSo) {
  std::array ends{words_of(std::vector<double>(10, 1.5), 0),
                  words_of(std::vector<double>(10, 1.5), 0)};
  for (HostCostWords& end : ends) end.set_boot("one");
  ReporterOfAll kept;
  report_host_costs(kept, "lo", ends,
                    {.bytes_per_second = 1.5e9, .message_bytes = 8, .is_synthetic = true});
  ASSERT_EQ(kept.points.size(), 2U);
  for (const Point& point : kept.points) {
    EXPECT_EQ(point.facts().at("hosts"), "one, whose CPUs do the work of both ends");
    EXPECT_TRUE(point.synthetic());
  }
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
