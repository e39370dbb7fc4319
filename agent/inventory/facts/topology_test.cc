// Topologies of synthetic nodes.
#include "agent/inventory/facts/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/read_tree.h"

namespace railgauge::agent {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Inventory read(const std::string& name) { return read_tree(name); }

// `links` NVLinks of each GPU, all to the same places.
void link(GpuFacts& gpu, const std::vector<std::string>& remotes, std::size_t down = 0) {
  std::vector<bool> active(remotes.size(), true);
  for (std::size_t i = 0; i < down; ++i) active[i] = false;
  gpu.nvml.nvlink_active = Fact<std::vector<bool>>::known(active, "test");
  gpu.nvml.nvlink_remotes = Fact<std::vector<std::string>>::known(remotes, "test");
}

TEST(Topology, EachGpuOfAnHgxNodeHasItsOwnNicBelowOneSwitch) {
  const Inventory node = read("hgx_h100_8");
  for (std::size_t i = 0; i < node.gpus.size(); ++i)
    EXPECT_THAT(nearest_nics(node, node.gpus[i]), ElementsAre("mlx5_" + std::to_string(i)));
  EXPECT_EQ(pci_distance(node, node.gpus[0].pci_address, node.rdma[0].pci_address), "PIX");
  EXPECT_EQ(pci_distance(node, node.gpus[0].pci_address, node.rdma[1].pci_address), "NODE");
  EXPECT_EQ(pci_distance(node, node.gpus[0].pci_address, node.rdma[7].pci_address), "SYS");
}

TEST(Topology, TwoNicsOfOneSwitchAreBothNearest) {
  const Inventory node = read("hgx_a100_8");
  EXPECT_THAT(nearest_nics(node, node.gpus[0]), ElementsAre("mlx5_0", "mlx5_1"));
}

TEST(Topology, ANicOfTheOtherSocketIsTheNearestWhereThereIsNoOther) {
  const Inventory node = read("pcie_4_far_nic");
  EXPECT_THAT(nearest_nics(node, node.gpus[0]), ElementsAre("mlx5_0"));
  EXPECT_EQ(pci_distance(node, node.gpus[0].pci_address, node.rdma[0].pci_address), "SYS");
  EXPECT_EQ(gpu_distance(node, node.gpus[0], node.gpus[1]), "NODE");
}

TEST(Topology, NvlinksThroughSwitchesCountByTheNarrowerEnd) {
  Inventory node = read("hgx_h100_8");
  link(node.gpus[0], std::vector<std::string>(18, "0000:07:00.0"));
  link(node.gpus[1], std::vector<std::string>(18, "0000:07:00.0"), 2);
  EXPECT_EQ(gpu_distance(node, node.gpus[0], node.gpus[1]), "NV16");
  EXPECT_EQ(gpu_distance(node, node.gpus[1], node.gpus[0]), "NV16");
  EXPECT_EQ(gpu_distance(node, node.gpus[0], node.gpus[2]), "NODE") << "it has none";
}

// From B200 on the switches are no PCI functions: NVML refuses to name the other end, or names a
// function that manages them.
TEST(Topology, NvlinksToSwitchesThatAreNotOnPcieCountToo) {
  Inventory node = read("hgx_h100_8");
  link(node.gpus[0], std::vector<std::string>(18, ""));
  link(node.gpus[1], std::vector<std::string>(18, "0000:05:00.0"));
  EXPECT_EQ(gpu_distance(node, node.gpus[0], node.gpus[1]), "NV18");
}

TEST(Topology, NvlinksBetweenTwoGpusCountForThemAlone) {
  Inventory node = read("pcie_4_far_nic");
  link(node.gpus[0], {node.gpus[1].pci_address, node.gpus[1].pci_address});
  link(node.gpus[1], {node.gpus[0].pci_address, node.gpus[0].pci_address});
  EXPECT_EQ(gpu_distance(node, node.gpus[0], node.gpus[1]), "NV2");
  EXPECT_EQ(gpu_distance(node, node.gpus[0], node.gpus[2]), "NODE");
}

TEST(Topology, AVirtualMachineWithoutNumaIsOneHostBridge) {
  const Inventory node = read("vm_gpu_vf");
  EXPECT_EQ(pci_distance(node, "0000:00:05.0", "0000:00:06.0"), "PHB");
}

TEST(Topology, ThePathOfAcsIsTheTwoPortsBelowTheSwitch) {
  const Inventory node = read("hgx_h100_8");
  EXPECT_THAT(path_bridges(*node.pci_device("0000:1b:00.0"), *node.pci_device("0000:18:00.0")),
              ElementsAre("0000:17:01.0", "0000:17:00.0"));
  EXPECT_THAT(path_bridges(*node.pci_device("0000:1b:00.0"), *node.pci_device("0000:40:00.0")),
              IsEmpty())
      << "through the host";
  EXPECT_THAT(gpu_nic_bridges(node), SizeIs(16));
}

}  // namespace
}  // namespace railgauge::agent
