#include "agent/watch/tracker.h"

#include <random>

#include <gmock/gmock.h>

namespace railgauge::agent {
namespace {
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kPort = "mlx5_0:1";

class TrackerTest : public testing::Test {
 protected:
  std::vector<Remark> look(double now, const std::string& counter, std::uint64_t value) {
    return tracker_.update({{kPort, counter, value}}, now);
  }
  double total(const std::string& counter) {
    for (const auto& one : tracker_.totals())
      if (one.counter == counter) return one.growth;
    return -1;
  }
  Tracker tracker_;
};

TEST_F(TrackerTest, WhatStoodThereBeforeIsNoGrowth) {
  EXPECT_THAT(look(0, "link_downed", 17), IsEmpty());
  EXPECT_THAT(look(5, "link_downed", 17), IsEmpty());
  EXPECT_EQ(total("link_downed"), 0);
}

TEST_F(TrackerTest, AnyLossOfALinkFails) {
  look(0, "link_downed", 17);
  const auto remarks = look(5, "link_downed", 18);
  ASSERT_THAT(remarks, SizeIs(1));
  EXPECT_EQ(remarks[0].severity, "critical");
  EXPECT_EQ(remarks[0].subject, kPort);
  EXPECT_THAT(remarks[0].text, HasSubstr("link_downed: 1 within 1 h, any is too much"));
  EXPECT_THAT(look(10, "link_downed", 18), IsEmpty()) << "told once";
  EXPECT_THAT(look(15, "link_downed", 19), IsEmpty()) << "within the minute";
  EXPECT_THAT(look(80, "link_downed", 20), SizeIs(1));
}

TEST_F(TrackerTest, SymbolErrorsWarnByRateAndFailByHour) {
  look(0, "symbol_error", 0);
  EXPECT_THAT(look(5, "symbol_error", 100), IsEmpty()) << "at the limit of 100 in 10 s";
  const auto warned = look(8, "symbol_error", 110);
  ASSERT_THAT(warned, SizeIs(1));
  EXPECT_EQ(warned[0].severity, "warning");
  const auto failed = look(600, "symbol_error", 121);
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed[0].severity, "critical") << "121 within the hour";
}

TEST_F(TrackerTest, OldGrowthLeavesTheWindow) {
  look(0, "symbol_error", 0);
  for (int half_hour = 1; half_hour <= 20; ++half_hour)
    EXPECT_THAT(
        look(half_hour * 1800.0, "symbol_error", static_cast<std::uint64_t>(half_hour) * 55),
        IsEmpty());
}

TEST_F(TrackerTest, ALongLookBackCountsByItsMean) {
  look(0, "local_ack_timeout_err", 0);
  EXPECT_THAT(look(300, "local_ack_timeout_err", 290), IsEmpty())
      << "a test ran meanwhile: 0.97 a second";
  EXPECT_THAT(look(600, "local_ack_timeout_err", 900), SizeIs(1)) << "2 a second";
}

TEST_F(TrackerTest, AFlapIsTwoChangesAndAFewOfThemWarn) {
  look(0, "carrier_changes", 2);
  EXPECT_THAT(look(5, "carrier_changes", 4), IsEmpty());
  const auto warned = look(10, "carrier_changes", 6);
  ASSERT_THAT(warned, SizeIs(1));
  EXPECT_EQ(warned[0].severity, "warning");
  EXPECT_THAT(look(4000, "carrier_changes", 8), IsEmpty());
  const auto failed = look(9000, "carrier_changes", 12);
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed[0].severity, "critical") << "ten changes a day";
}

TEST_F(TrackerTest, AResetCountsFromZeroAndIsNoCatastrophe) {
  look(0, "symbol_error", 30'000);
  EXPECT_THAT(look(5, "symbol_error", 3), IsEmpty());
  EXPECT_EQ(total("symbol_error"), 3);
}

TEST(Growth, AWrapIsToldFromAReset) {
  EXPECT_EQ(growth(5, 9, 32), 4);
  EXPECT_EQ(growth((1ULL << 32) - 3, 4, 32), 7) << "wrapped near its end";
  EXPECT_EQ(growth(1'000'000, 4, 32), 4) << "reset in the middle";
  EXPECT_EQ(growth(~0ULL - 1, 4, 64), 4) << "64 bits never wrap";
  EXPECT_EQ(growth(0, ~0ULL, 64), static_cast<double>(~0ULL));
  EXPECT_EQ(growth(1ULL << 40, 4, 32), 4) << "wider than told";
}

TEST_F(TrackerTest, ACounterThatStandsAtItsEndIsToldOnce) {
  EXPECT_THAT(look(0, "symbol_error", 65'534), IsEmpty());
  const auto remarks = look(5, "symbol_error", 65'535);
  ASSERT_THAT(remarks, SizeIs(1));
  EXPECT_THAT(remarks[0].text, HasSubstr("the most it can count"));
  EXPECT_THAT(look(10, "symbol_error", 65'535), IsEmpty());
}

TEST_F(TrackerTest, ADeviceThatVanishesIsToldAtTheThirdLookAndGoesOnWhereItWas) {
  look(0, "link_downed", 5);
  EXPECT_THAT(tracker_.update({}, 5), IsEmpty());
  EXPECT_THAT(tracker_.update({}, 10), IsEmpty());
  const auto gone = tracker_.update({}, 15);
  ASSERT_THAT(gone, SizeIs(1));
  EXPECT_EQ(gone[0].kind, "device_vanished");
  EXPECT_THAT(tracker_.update({}, 20), IsEmpty());
  const auto back = look(25, "link_downed", 6);
  ASSERT_THAT(back, SizeIs(2));
  EXPECT_EQ(back[0].kind, "counter") << "it went down while it was away";
  EXPECT_EQ(back[1].kind, "device_returned");
}

TEST_F(TrackerTest, AShortAbsenceIsNoEvent) {
  look(0, "link_downed", 5);
  tracker_.update({}, 5);
  tracker_.update({}, 10);
  EXPECT_THAT(look(15, "link_downed", 5), IsEmpty());
}

TEST_F(TrackerTest, ADeviceWhoseDriverWasLoadedAnewStartsAtZero) {
  look(0, "local_ack_timeout_err", 4'000'000);
  for (const double now : {5.0, 10.0, 15.0}) tracker_.update({}, now);
  const auto back = look(20, "local_ack_timeout_err", 0);
  ASSERT_THAT(back, SizeIs(1));
  EXPECT_EQ(back[0].kind, "device_returned");
  EXPECT_EQ(total("local_ack_timeout_err"), 0);
}

TEST_F(TrackerTest, CountersThatNoRuleKnowsAreLeftOut) {
  EXPECT_THAT(look(0, "port_rcv_data", 1), IsEmpty());
  EXPECT_EQ(total("port_rcv_data"), -1);
}

// Whatever comes, in whatever order: totals never fall, remarks stay few, memory bounded.
TEST(TrackerProperty, TotalsOnlyGrowAndRemarksAreBounded) {
  std::mt19937_64 random(42);
  for (int round = 0; round < 50; ++round) {
    Tracker tracker;
    std::map<std::string, double> before;
    double now = static_cast<double>(random() % 100'000);
    for (int step = 0; step < 200; ++step) {
      now += static_cast<double>(random() % 5000) / 10;
      std::vector<Reading> readings;
      for (const WatchRule& rule : watch_rules()) {
        if (random() % 3 == 0) continue;
        const std::uint64_t value = random() >> (random() % 64);
        readings.push_back({random() % 2 == 0 ? "a" : "b", rule.counter, value});
      }
      EXPECT_LE(tracker.update(readings, now).size(), 3 * readings.size() + 4);
      for (const auto& total : tracker.totals()) {
        double& last = before[total.device + total.counter];
        ASSERT_GE(total.growth, last);
        ASSERT_TRUE(std::isfinite(total.growth));
        last = total.growth;
      }
    }
  }
}

TEST(XidSeverity, HardwareFailsProgramsInformTheRestWarns) {
  EXPECT_STREQ(xid_severity(79), "critical");
  EXPECT_STREQ(xid_severity(48), "critical");
  EXPECT_STREQ(xid_severity(65), "critical");
  EXPECT_STREQ(xid_severity(140), "critical");
  EXPECT_STREQ(xid_severity(13), "info");
  EXPECT_STREQ(xid_severity(31), "info");
  EXPECT_STREQ(xid_severity(0), "warning");
  EXPECT_STREQ(xid_severity(9999), "warning");
}

}  // namespace
}  // namespace railgauge::agent
