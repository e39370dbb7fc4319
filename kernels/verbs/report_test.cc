// What makes a verbs figure void.
#include "kernels/verbs/report.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/dl/verbs.h"
#include "kernels/fakes/fake_verbs.h"

namespace railgauge::verbs {
namespace {

TEST(LineRate, AFigureAboveItFailsAndNamesIt) {
  const Status above = check_line_rate("mlx5_0:1", 100e9, 12.7e9);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().code, Code::kDataLoss);
  EXPECT_EQ(
      above.error().message,
      "mlx5_0:1: measured 101.6 Gb/s, above the line rate of 100.0 Gb/s, so the figure cannot "
      "be right");
}

TEST(LineRate, AWindowsEdgesMayPassItByOnePercent) {
  EXPECT_TRUE(check_line_rate("mlx5_0:1", 100e9, 12.5e9));
  EXPECT_TRUE(check_line_rate("mlx5_0:1", 100e9, 12.62e9));
  EXPECT_FALSE(check_line_rate("mlx5_0:1", 100e9, 12.63e9));
}

TEST(LineRate, ALatencyThatIsShorterThanTheMessageIsLongOnTheWireFails) {
  Point point;
  point.set_message_bytes(1 << 20);  // 83.9 us at 100 Gb/s
  point.set_median(85'000);
  EXPECT_TRUE(check_latency_rate("mlx5_0:1", 100e9, point));
  EXPECT_TRUE(check_latency_rate("mlx5_0:1", 0, point));
  point.set_median(80'000);
  const Status above = check_latency_rate("mlx5_0:1", 100e9, point);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().code, Code::kDataLoss);
}

TEST(LineRate, AnUnknownOneBoundsNothing) { EXPECT_TRUE(check_line_rate("x:1", 0, 1e15)); }

PeerAddress port(std::string endpoint, double rate_bits_per_second) {
  PeerAddress made;
  made.set_gid(endpoint);
  made.set_endpoint(std::move(endpoint));
  made.set_line_rate_bits_per_second(rate_bits_per_second);
  return made;
}

Result<Device> fake0() {
  setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
  return Device::open("fake0:1");
}

TEST(LineRate, ASoftwareDevicesRateIsOnlyAName) {
  fake::verbs_control().reset();
  const auto device = fake0();
  ASSERT_TRUE(device) << device.error().message;
  const LineRate rate = line_rate_between(*device, {}, {});
  EXPECT_EQ(rate.waiver, "fake is software, whose rate is only a name");
  EXPECT_EQ(rate.bits_per_second, 0);
  Point point;
  point.set_message_bytes(1 << 20);
  point.set_median(1);
  EXPECT_TRUE(hold_to_line_rate(*device, {}, {}, point));
}

TEST(LineRate, IsTheSmallerOfBothEndsThatIsKnown) {
  fake::verbs_control().reset();
  const auto device = fake0();
  ASSERT_TRUE(device) << device.error().message;
  struct Case {
    double here;
    double there;
    double bound;
    const char* endpoint;
  };
  for (const Case& one :
       {Case{100e9, 200e9, 100e9, "a:1"}, Case{100e9, 100e9, 100e9, "a:1"},
        Case{200e9, 100e9, 100e9, "b:1 at the other end"}, Case{100e9, 0, 100e9, "a:1"},
        Case{0, 100e9, 100e9, "b:1 at the other end"}}) {
    const LineRate rate = line_rate_between(*device, port("a:1", one.here), port("b:1", one.there));
    EXPECT_EQ(rate.waiver, "");
    EXPECT_EQ(rate.bits_per_second, one.bound);
    EXPECT_EQ(rate.endpoint, one.endpoint);
  }
  const LineRate turned = line_rate_between(*device, port("a:1", 100e9), port("a:1", 100e9));
  EXPECT_EQ(turned.waiver, "both ends are one port");
  EXPECT_EQ(turned.bits_per_second, 0);
}

TEST(LineRate, ALatencyIsHeldToTheSlowerEnd) {
  fake::verbs_control().reset();
  const auto device = fake0();
  ASSERT_TRUE(device) << device.error().message;
  Point point;
  point.set_message_bytes(1 << 20);  // 83.9 us at 100 Gb/s
  point.set_median(80'000);
  EXPECT_TRUE(hold_to_line_rate(*device, port("a:1", 200e9), port("b:1", 200e9), point));
  EXPECT_EQ(point.facts().at("line_rate_check"), "held");
  const Status above = hold_to_line_rate(*device, port("a:1", 200e9), port("b:1", 100e9), point);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().message,
            "b:1 at the other end: measured 104.9 Gb/s, above the line rate of 100.0 Gb/s, so the "
            "figure cannot be right");
}

}  // namespace
}  // namespace railgauge::verbs
