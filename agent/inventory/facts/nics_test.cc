// NIC ports and versions read from files, in the messages to the controller.
#include "agent/inventory/contract.h"
#include "agent/inventory/read_inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/temp_dir.h"

namespace railgauge::agent {
namespace {
using testing::IsEmpty;
using testing::SizeIs;

// A tree as two machines show it: a PCI adapter with two ports, and soft-RoCE.
class Nics : public testing::Test {
 protected:
  TempDir root_;

  [[nodiscard]] api::Hello hello() const {
    api::Hello hello;
    fill_hello(read_inventory({.root = root_.path(), .source_seconds = 60}), hello);
    return hello;
  }
  void add_port(const std::string& device, int port, const std::string& state) {
    const std::string folder = "sys/class/infiniband/" + device + "/ports/" + std::to_string(port);
    root_.write(folder + "/state", state + "\n");
    root_.write(folder + "/rate", "200 Gb/sec (4X HDR)\n");
    root_.write(folder + "/link_layer", "InfiniBand\n");
  }
  void link(const std::string& target, const std::string& name) {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_directory_symlink(target, path);
  }
  void add_adapter() {
    add_port("mlx5_0", 2, "1: DOWN");
    add_port("mlx5_0", 1, "4: ACTIVE");
    root_.write("sys/class/infiniband/mlx5_0/node_guid", "b83f:d203:00a1:b2c3\n");
    root_.write("sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002\n");
    root_.write("sys/devices/pci0000:15/0000:17:00.0/numa_node", "1\n");
    root_.write("sys/devices/pci0000:15/0000:17:00.0/class", "0x020700\n");
    root_.write("sys/devices/pci0000:15/0000:17:00.0/vendor", "0x15b3\n");
    link("../../../devices/pci0000:15/0000:17:00.0", "sys/bus/pci/devices/0000:17:00.0");
    root_.write("sys/bus/pci/drivers/mlx5_core/bind", "");
    link("../../../../bus/pci/drivers/mlx5_core", "sys/devices/pci0000:15/0000:17:00.0/driver");
    link("../../../devices/pci0000:15/0000:17:00.0", "sys/class/infiniband/mlx5_0/device");
  }
};

TEST_F(Nics, ReadsEveryPortOfAnAdapter) {
  add_adapter();
  const auto nics = hello().nics();
  ASSERT_THAT(nics, SizeIs(2));
  EXPECT_EQ(nics[0].device(), "mlx5_0");
  EXPECT_EQ(nics[0].port(), 1u);
  EXPECT_EQ(nics[0].state(), "active");
  EXPECT_EQ(nics[1].state(), "down");
  EXPECT_EQ(nics[0].pci_address(), "0000:17:00.0");
  EXPECT_EQ(nics[0].driver(), "mlx5_core");
  EXPECT_EQ(nics[0].numa_node_plus_one(), 2u);
  EXPECT_EQ(nics[0].guid(), "b83f:d203:00a1:b2c3");
  EXPECT_EQ(nics[0].firmware(), "28.39.1002");
  EXPECT_EQ(nics[0].link_layer(), "infiniband");
  EXPECT_DOUBLE_EQ(nics[0].rate_bits_per_second(), 200e9);
}

TEST_F(Nics, ASoftwareDeviceHasNoPciAddress) {
  add_port("rxe0", 1, "4: ACTIVE");
  root_.write("sys/class/infiniband/rxe0/ports/1/link_layer", "Ethernet\n");
  root_.write("sys/class/infiniband/rxe0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n");
  root_.write("sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0", "eth0\n");
  const auto nics = hello().nics();
  ASSERT_THAT(nics, SizeIs(1));
  EXPECT_EQ(nics[0].pci_address(), "");
  EXPECT_EQ(nics[0].netdev(), "eth0");
  EXPECT_EQ(nics[0].driver(), "rdma_rxe");
  EXPECT_EQ(nics[0].link_layer(), "ethernet");
  EXPECT_EQ(nics[0].numa_node_plus_one(), 0u);
  EXPECT_DOUBLE_EQ(nics[0].rate_bits_per_second(), 2.5e9);
}

TEST_F(Nics, AMachineWithoutRdmaHasNone) { EXPECT_THAT(hello().nics(), IsEmpty()); }

TEST_F(Nics, FactsNameKernelCpuAndDrivers) {
  root_.write("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  root_.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Made Up 9000\n");
  root_.write("sys/module/nvidia/version", "580.65.06\n");
  link("libibverbs.so.1.14.44.0", "usr/lib/x86_64-linux-gnu/libibverbs.so.1");
  const api::Hello facts = hello();
  EXPECT_EQ(facts.stack_versions().at("linux_kernel"), "6.1.0-18-amd64");
  EXPECT_EQ(facts.facts().at("cpu"), "Made Up 9000");
  EXPECT_EQ(facts.stack_versions().at("rdma_core"), "44.0");
  EXPECT_EQ(facts.stack_versions().at("gpu_driver"), "580.65.06");
}

TEST_F(Nics, WhatCannotBeReadIsNoFact) {
  const api::Hello facts = hello();
  for (const char* name : {"linux_kernel", "rdma_core", "gpu_driver"})
    EXPECT_FALSE(facts.stack_versions().contains(name)) << name;
  EXPECT_FALSE(facts.facts().contains("cpu"));
}

TEST_F(Nics, OnlyGigabitsAreUnderstoodAsARate) {
  add_port("mlx5_0", 1, "4: ACTIVE");
  add_port("mlx5_0", 2, "4: ACTIVE");
  root_.write("sys/class/infiniband/mlx5_0/ports/1/rate", "100 furlongs\n");
  root_.write("sys/class/infiniband/mlx5_0/ports/2/rate", "\n");
  const Inventory node = read_inventory({.root = root_.path(), .source_seconds = 60});
  for (const RdmaPort& port : node.rdma.at(0).ports)
    EXPECT_EQ(port.rate_bits_per_second.state, FactState::kError) << port.port;
}

}  // namespace
}  // namespace railgauge::agent
