// The choice of a rank's interface and address.
#include "kernels/net/netdev.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernels/net/device/netdev_facts.h"

namespace railgauge::net {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::vector<InterfaceAddress> kAddresses{
    {"lo", "127.0.0.1"},   {"eth0", "fe80::1", true, true}, {"eth0", "2001:db8::1", true},
    {"eth0", "192.0.2.1"}, {"eth1", "fe80::2", true, true}, {"eth1", "2001:db8::2", true},
    {"ib0", "192.0.2.7"},
};

// A folder used in place of /sys.
class Sysfs : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) /
            ("net-" + std::to_string(getpid()) + "-" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name());
    write("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "eth0");
    write("class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/0", "");
    write("class/infiniband/mlx5_1/ports/1/gid_attrs/ndevs/1", "eth1");
    write("class/infiniband/mlx5_2/ports/1/state", "4: ACTIVE");
    write("class/infiniband/mlx5_2/ports/2/state", "4: ACTIVE");
    write("class/infiniband/mlx5_2/device/net/ib0/dev_port", "1");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }
  [[nodiscard]] Result<Chosen> choose_by(const Wanted& wanted) const {
    return choose(wanted, kAddresses, root_.string());
  }
  fs::path root_;
};

TEST_F(Sysfs, AnEndpointsPortGivesItsInterfaceAndIpv4ComesFirst) {
  const auto chosen = choose_by({.endpoint = "mlx5_0:1"});
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->address.netdev, "eth0");
  EXPECT_EQ(chosen->address.text, "192.0.2.1");
  EXPECT_EQ(chosen->device, "mlx5_0");
  EXPECT_EQ(chosen->port, "1");
}

TEST_F(Sysfs, WithoutIpv4AGlobalAddressComesBeforeALinkLocalOne) {
  const auto chosen = choose_by({.endpoint = "mlx5_1"});
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->address.text, "2001:db8::2");
}

TEST_F(Sysfs, AnInfiniBandPortsInterfaceIsFoundByItsNumber) {
  const auto chosen = choose_by({.endpoint = "mlx5_2:2"});
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->address.netdev, "ib0");
  EXPECT_FALSE(choose_by({.endpoint = "mlx5_2:1"}));
}

TEST_F(Sysfs, AnEmptyEndpointTakesTheFirstPortThatHasOne) {
  const auto chosen = choose_by({});
  ASSERT_TRUE(chosen) << chosen.error().message;
  EXPECT_EQ(chosen->device, "mlx5_0");
}

TEST_F(Sysfs, ANamedInterfaceOrAddressComesBeforeTheEndpoints) {
  EXPECT_EQ(choose_by({.endpoint = "mlx5_0:1", .netdev = "eth1"})->address.text, "2001:db8::2");
  EXPECT_EQ(choose_by({.endpoint = "mlx5_0:1", .netdev = "eth1"})->device, "");
  EXPECT_EQ(choose_by({.address = "2001:db8::1"})->address.netdev, "eth0");
  EXPECT_EQ(choose_by({.netdev = "lo"})->address.text, "127.0.0.1");
}

TEST_F(Sysfs, WhatIsNotThereSaysWhatIs) {
  const auto device = choose_by({.endpoint = "mlx5_9:1"});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, Code::kNotFound);
  EXPECT_THAT(device.error().message, HasSubstr("RDMA devices here: mlx5_0, mlx5_1, mlx5_2"));
  const auto netdev = choose_by({.netdev = "eth7"});
  ASSERT_FALSE(netdev);
  EXPECT_EQ(netdev.error().code, Code::kNotFound);
  EXPECT_THAT(netdev.error().message, HasSubstr("one of eth0, eth1, ib0, lo by parameter netdev"));
  const auto address = choose_by({.netdev = "lo", .address = "192.0.2.1"});
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code, Code::kInvalidArgument);
  EXPECT_THAT(address.error().message, HasSubstr("192.0.2.1 is no address of lo; there is "));
}

TEST(NoSysfs, WithoutAnRdmaPortAnInterfaceMustBeNamed) {
  const auto chosen = choose({}, kAddresses, "/absent");
  ASSERT_FALSE(chosen);
  EXPECT_EQ(chosen.error().code, Code::kNotFound);
  EXPECT_THAT(chosen.error().message, HasSubstr("name one by parameter netdev or address"));
  EXPECT_TRUE(choose({.netdev = "lo"}, kAddresses, "/absent"));
}

TEST_F(Sysfs, ARateBoundsOnlyWhereHardwareStandsBehindIt) {
  write("class/net/eth0/mtu", "9000");
  write("class/net/eth0/speed", "100000");
  write("class/net/eth0/device/vendor", "0x15b3");
  const NetdevFacts real = netdev_facts("eth0", root_.string());
  EXPECT_EQ(real.mtu_bytes, 9000U);
  EXPECT_EQ(real.rate_bits_per_second, 100e9);
  EXPECT_TRUE(real.is_rate_physical);
  write("class/net/veth0/speed", "10000");
  EXPECT_FALSE(netdev_facts("veth0", root_.string()).is_rate_physical);
  write("class/net/eth1/speed", "-1");
  write("class/net/eth1/device/vendor", "0x1af4");
  EXPECT_FALSE(netdev_facts("eth1", root_.string()).is_rate_physical);
  fs::create_directories(root_ / "drivers/virtio_net");
  fs::create_directory_symlink(root_ / "drivers/virtio_net",
                               root_ / "class/net/eth1/device/driver");
  write("class/net/eth1/speed", "10000");
  EXPECT_FALSE(netdev_facts("eth1", root_.string()).is_rate_physical);
  EXPECT_EQ(netdev_facts("eth1", root_.string()).driver, "virtio_net");
  EXPECT_EQ(netdev_facts("absent", root_.string()).mtu_bytes, 0U);
}

}  // namespace
}  // namespace railgauge::net
