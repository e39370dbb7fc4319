// Trees of several kinds of machines; addresses are made up.
#include "agent/inventory/facts/distances.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/inventory/contract.h"
#include "agent/inventory/read_inventory.h"
#include "agent/testing/temp_dir.h"
#include "kernels/core/pci_distance.h"

namespace railgauge::agent {
namespace {
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class Distances : public testing::Test {
 protected:
  TempDir root_;
  std::vector<RdmaDevice> nics_;
  std::vector<std::string> gpus_;  // addresses

  // A device at `path` below sys/devices, and the link by its address.
  void add(const std::string& path, int numa, const char* kind, const char* vendor) const {
    const std::string address = path.substr(path.rfind('/') + 1);
    root_.write("sys/devices/" + path + "/numa_node", std::to_string(numa) + "\n");
    root_.write("sys/devices/" + path + "/class", std::string(kind) + "\n");
    root_.write("sys/devices/" + path + "/vendor", std::string(vendor) + "\n");
    const std::filesystem::path link = root_ / ("sys/bus/pci/devices/" + address);
    std::filesystem::create_directories(link.parent_path());
    std::filesystem::create_directory_symlink("../../../devices/" + path, link);
  }
  void add_gpu(const std::string& path, int numa) {
    add(path, numa, "0x030200", "0x10de");
    gpus_.push_back(path.substr(path.rfind('/') + 1));
  }
  void add_nic(const std::string& device, const std::string& path, int numa) {
    add(path, numa, "0x020700", "0x15b3");
    nics_.push_back({.name = device, .pci_address = path.substr(path.rfind('/') + 1)});
  }
  void add_numa_nodes(int count) const {
    for (int i = 0; i < count; ++i)
      root_.write("sys/devices/system/node/node" + std::to_string(i) + "/cpulist", "0\n");
    root_.write("sys/devices/system/node/online", "0\n");
  }
  std::map<std::string, std::string> of_gpu(std::size_t index) {
    Inventory node = read_inventory({.root = root_.path(), .source_seconds = 60});
    node.rdma = nics_;
    api::Hello hello;
    fill_hello(node, hello);
    for (const api::Gpu& gpu : hello.gpus())
      if (gpu.pci_address() == gpus_.at(index))
        return {gpu.distances().begin(), gpu.distances().end()};
    ADD_FAILURE() << gpus_.at(index) << " was not read";
    return {};
  }
};

// Two sockets with two host bridges each; below each a switch with a GPU and a NIC of its own.
TEST_F(Distances, OnAMachineLikeADgxEachGpuHasItsNicOnItsSwitch) {
  add_numa_nodes(2);
  const std::vector<std::string> hosts{"15", "37", "97", "c7"};
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string& bus = hosts[i];
    const std::string up = fmt::format("pci0000:{0}/0000:{0}:01.0/0000:{0}:02.0", bus);
    const int numa = i < 2 ? 0 : 1;
    add_gpu(fmt::format("{0}/0000:{1}:03.0/0000:{1}:10.0", up, bus), numa);
    add_nic(fmt::format("mlx5_{}", i), fmt::format("{0}/0000:{1}:04.0/0000:{1}:11.0", up, bus),
            numa);
  }
  EXPECT_THAT(of_gpu(0), UnorderedElementsAre(Pair("mlx5_0", "PIX"), Pair("mlx5_1", "NODE"),
                                              Pair("mlx5_2", "SYS"), Pair("mlx5_3", "SYS")));
  EXPECT_THAT(of_gpu(3), UnorderedElementsAre(Pair("mlx5_3", "PIX"), Pair("mlx5_2", "NODE"),
                                              Pair("mlx5_0", "SYS"), Pair("mlx5_1", "SYS")));
}

// A switch below a switch: the GPU on the lower one, a NIC on each.
TEST_F(Distances, AcrossTwoSwitchesIsPxb) {
  add_numa_nodes(1);
  const std::string upper = "pci0000:15/0000:15:01.0/0000:16:00.0";
  const std::string lower = upper + "/0000:17:00.0/0000:18:00.0";
  add_gpu(lower + "/0000:19:00.0/0000:1a:00.0", 0);
  add_nic("mlx5_0", lower + "/0000:19:01.0/0000:1b:00.0", 0);
  add_nic("mlx5_1", upper + "/0000:17:01.0/0000:1c:00.0", 0);
  EXPECT_THAT(of_gpu(0), UnorderedElementsAre(Pair("mlx5_0", "PIX"), Pair("mlx5_1", "PXB")));
}

// Without switches each device has a root port.
TEST_F(Distances, ByTwoRootPortsOfOneHostBridgeIsPhb) {
  add_numa_nodes(2);
  add_gpu("pci0000:40/0000:40:01.1/0000:41:00.0", 1);
  add_nic("mlx5_0", "pci0000:40/0000:40:03.1/0000:42:00.0", 1);
  EXPECT_THAT(of_gpu(0), UnorderedElementsAre(Pair("mlx5_0", "PHB")));
}

TEST_F(Distances, AFlatVirtualMachineIsPhb) {
  add_gpu("pci0000:00/0000:00:05.0", -1);
  add_nic("mlx5_0", "pci0000:00/0000:00:06.0", -1);
  EXPECT_THAT(of_gpu(0), UnorderedElementsAre(Pair("mlx5_0", "PHB")));
}

// Azure's and others': each device below a virtual host bridge of its own, deep in another tree.
TEST_F(Distances, AVirtualMachineWithAHostBridgeForEachDeviceGoesByNumaNode) {
  add_numa_nodes(2);
  const std::string bus = "LNXSYSTM:00/LNXSYBUS:00/VMBUS:00/";
  add_gpu(bus + "aaaa/pci0001:00/0001:00:00.0", 0);
  add_nic("mlx5_0", bus + "bbbb/pci0101:00/0101:00:00.0", 0);
  add_nic("mlx5_1", bus + "cccc/pci0102:00/0102:00:00.0", 1);
  EXPECT_THAT(of_gpu(0), UnorderedElementsAre(Pair("mlx5_0", "NODE"), Pair("mlx5_1", "SYS")));
}

TEST_F(Distances, ANicBehindTheOtherSocketIsSys) {
  add_numa_nodes(2);
  add_gpu("pci0000:17/0000:17:01.0/0000:18:00.0", 0);
  add_nic("mlx5_0", "pci0000:b0/0000:b0:01.0/0000:b1:00.0", 1);
  add_nic("mlx5_1", "pci0000:30/0000:30:01.0/0000:31:00.0", 0);
  EXPECT_THAT(of_gpu(0), UnorderedElementsAre(Pair("mlx5_0", "SYS"), Pair("mlx5_1", "NODE")));
}

// A volume device's root forms another tree below a host bridge.
TEST_F(Distances, AHostBridgeBelowAHostBridgeIsNotTheSameOne) {
  add_gpu("pci0000:15/0000:15:01.0/0000:16:00.0", 0);
  add_nic("mlx5_0", "pci0000:15/0000:15:05.5/pci10000:00/10000:00:01.0/10000:01:00.0", 0);
  EXPECT_THAT(of_gpu(0), UnorderedElementsAre(Pair("mlx5_0", "NODE")));
}

TEST_F(Distances, WhatTheMachineDoesNotTellIsUnknownAndNoGuess) {
  add_numa_nodes(2);
  add_gpu("pci0000:17/0000:17:01.0/0000:18:00.0", -1);
  add_nic("mlx5_0", "pci0000:b0/0000:b0:01.0/0000:b1:00.0", 1);
  nics_.push_back({.name = "mlx5_1", .pci_address = "0000:c1:00.0"});  // not in sysfs
  EXPECT_THAT(of_gpu(0),
              UnorderedElementsAre(Pair("mlx5_0", "unknown"), Pair("mlx5_1", "unknown")));
}

TEST_F(Distances, ASoftwareDeviceHasNone) {
  add_gpu("pci0000:00/0000:00:05.0", 0);
  nics_.push_back({.name = "rxe0"});
  EXPECT_THAT(of_gpu(0), IsEmpty());
}

TEST_F(Distances, BothPortsOfOneAdapterAreOneDevice) {
  add_gpu("pci0000:00/0000:00:05.0", 0);
  add_nic("mlx5_0", "pci0000:00/0000:00:06.0", 0);
  nics_.front().ports.resize(2);
  EXPECT_THAT(of_gpu(0), UnorderedElementsAre(Pair("mlx5_0", "PHB")));
}

TEST(PciDistance, IsTheSameFromBothSidesAndAWordOfTheList) {
  const std::vector<PciPlace> places{{},
                                     {.host_bridge = "pci0000:15", .numa_node_plus_one = 1},
                                     {.host_bridge = "pci0000:15", .bridges = {"a", "b", "c"}},
                                     {.host_bridge = "pci0000:15", .bridges = {"a", "b", "d"}},
                                     {.host_bridge = "pci0000:15", .bridges = {"a", "e", "f", "g"}},
                                     {.host_bridge = "pci0000:30", .numa_node_plus_one = 1},
                                     {.host_bridge = "pci0000:80", .numa_node_plus_one = 2}};
  for (const PciPlace& a : places)
    for (const PciPlace& b : places)
      for (const std::size_t numa_nodes : {1U, 2U}) {
        const std::string distance = distance_between(a, b, numa_nodes);
        EXPECT_EQ(distance, distance_between(b, a, numa_nodes));
        EXPECT_EQ(distance == kUnknownDistance,
                  pci_distance_rank(distance) == kPciDistances.size());
      }
  EXPECT_LT(pci_distance_rank("PIX"), pci_distance_rank("SYS"));
}

}  // namespace
}  // namespace railgauge::agent
