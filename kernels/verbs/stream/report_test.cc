// Conditions that invalidate a verbs figure.
#include "kernels/verbs/stream/report.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernels/dl/verbs.h"
#include "kernels/fakes/verbs/fake_verbs.h"

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

// The kernel's files about fake0, below a folder of the test's own.
class Shown : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "shown-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    fake::verbs_control().reset();
    fake::verbs_control().hardware_rate = 1;
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    fake::set_sysfs_folder(folder_.string());
  }
  void TearDown() override {
    fake::set_sysfs_folder("");
    fake::verbs_control().reset();
    std::filesystem::remove_all(folder_);
  }
  void write_rate(const std::string& text) const {
    std::filesystem::create_directories(folder_ / "fake0/ports/1");
    std::ofstream(folder_ / "fake0/ports/1/rate") << text << "\n";
  }
  std::filesystem::path folder_;
};

TEST_F(Shown, ABondedPortsRateBoundsNothing) {
  const auto net = folder_ / "fake0/device/net/ens1";
  std::filesystem::create_directories(net);
  std::filesystem::create_directories(folder_ / "bridge");
  std::filesystem::create_directory_symlink(folder_ / "bridge", net / "master");
  const auto bridged = fake0();
  ASSERT_TRUE(bridged) << bridged.error().message;
  EXPECT_EQ(bridged->bond(), "");
  EXPECT_EQ(bridged->line_rate_bits_per_second(), 200e9);
  std::filesystem::remove(net / "master");
  std::filesystem::create_directories(folder_ / "bond0/bonding");
  std::filesystem::create_directory_symlink(folder_ / "bond0", net / "master");
  const auto device = fake0();
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->port_rate_bits_per_second(), 200e9);
  EXPECT_EQ(device->line_rate_bits_per_second(), 0);
  EXPECT_EQ(line_rate_between(*device, port("a:1", 0), port("b:1", 0)).waiver,
            "the port is bond0's, and its rate is that of one member");
}

TEST_F(Shown, ASpeedNewerThanTheLibrarysWordsIsTheKernels) {
  write_rate("800 Gb/sec (4X XDR)");
  const auto device = fake0();
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->line_rate_bits_per_second(), 800e9);
  write_rate("no rate");
  EXPECT_EQ(fake0()->line_rate_bits_per_second(), 200e9);
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
