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

TEST(LineRate, ASoftwareDevicesRateIsOnlyAName) {
  setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
  fake::verbs_control().reset();
  const auto device = Device::open("fake0:1");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(line_rate_waiver(*device, {}, {}), "fake is software, whose rate is only a name");
  EXPECT_TRUE(check_line_rate(*device, 1e15));
}

}  // namespace
}  // namespace railgauge::verbs
