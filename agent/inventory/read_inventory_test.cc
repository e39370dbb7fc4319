// Whole nodes, as files. All are synthetic.
#include "agent/inventory/facts/inventory.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/inventory/facts/distances.h"
#include "agent/inventory/sources/sources.h"
#include "agent/testing/node_tree.h"
#include "agent/testing/read_tree.h"

namespace railgauge::agent {
namespace {
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::SizeIs;

const Inventory& read(const std::string& name) {
  const Inventory& inventory = read_tree(name);
  EXPECT_THAT(inventory.late_sources, IsEmpty());
  return inventory;
}

TEST(InventoryTrees, ThereAreTenNodes) { EXPECT_GE(NodeTree::names().size(), 10u); }

TEST(InventoryTrees, KnownModulesAreSortedSinceTheyAreSearched) {
  EXPECT_TRUE(std::ranges::is_sorted(known_modules()));
}

TEST(InventoryTrees, AnHgxNodeIsReadWhole) {
  const Inventory& node = read("hgx_h100_8");
  ASSERT_THAT(node.gpus, SizeIs(8));
  EXPECT_EQ(node.gpus[0].name, "gpu0");
  EXPECT_EQ(node.gpus[0].state, "active");
  EXPECT_TRUE(node.gpus[0].model.is("NVIDIA H100 80GB HBM3"));
  EXPECT_EQ(node.gpus[0].model.source, "/proc/driver/nvidia/gpus/0000:1b:00.0/information");
  ASSERT_THAT(node.rdma, SizeIs(8));
  EXPECT_TRUE(node.rdma[7].firmware.is("28.39.1002"));
  ASSERT_THAT(node.rdma[7].ports, SizeIs(1));
  EXPECT_TRUE(node.rdma[7].ports[0].state.is("active"));
  EXPECT_TRUE(node.rdma[7].ports[0].rate_bits_per_second.is(400e9));
  EXPECT_THAT(node.pci, SizeIs(8 * 6));
  EXPECT_THAT(node.numa, SizeIs(2));
  EXPECT_TRUE(node.gpu_driver_flavour.is("open"));
  EXPECT_TRUE(node.ofed.is("MLNX_OFED_LINUX-24.04-0.6.6.0"));
  EXPECT_TRUE(node.rdma_core.is("50.0"));
  EXPECT_TRUE(node.nccl.is("2.21.5"));
  EXPECT_TRUE(node.cuda.is("12.4.1"));
  EXPECT_TRUE(node.fabric_manager.is("550.54.15-1"));
  EXPECT_TRUE(node.openmpi.is("4.1.7a1-1.2404066"));
  EXPECT_TRUE(node.is_virtual_machine.is(false));
  EXPECT_TRUE(node.peer_memory_symbol.is(true));
  EXPECT_TRUE(node.limits.memlock_soft_bytes.is(kUnlimited));
  EXPECT_TRUE(node.limits.cap_ipc_lock.is(true));
}

TEST(InventoryTrees, ASymbolTableThatIsMaskedDoesNotSayThatPeerMemoryIsLacking) {
  const auto symbol_with = [](const char* kallsyms) {
    NodeTree tree;
    tree.apply(std::string("sys/module/ib_core/initstate = live\nproc/kallsyms =") + kallsyms +
               "\n");
    return read_tree(tree).peer_memory_symbol;
  };
  EXPECT_TRUE(symbol_with(" 0 T ib_register_peer_memory_client [ib_core]").is(true));
  EXPECT_TRUE(symbol_with(" 0 T ib_register_client [ib_core]").is(false));
  EXPECT_EQ(symbol_with("").state, FactState::kUnknown);
}

TEST(InventoryTrees, TheWayToTheHostIsToldFromTheRootPortDown) {
  const Inventory& node = read("hgx_h100_8");
  const PciDevice* nic = node.pci_device("0000:18:00.0");
  ASSERT_NE(nic, nullptr);
  EXPECT_EQ(nic->host_bridge, "pci0000:15");
  EXPECT_THAT(nic->bridges, ElementsAre("0000:15:01.0", "0000:16:00.0", "0000:17:00.0"));
  EXPECT_TRUE(nic->numa_node.is(0));
  EXPECT_TRUE(nic->link_gigatransfers.is(32));
  EXPECT_TRUE(nic->link_width.is(16));
  ASSERT_TRUE(nic->config.pcie.is_known()) << nic->config.pcie.reason;
  EXPECT_EQ(nic->config.pcie.value.max_read_request_bytes, 4096u);
  const PciDevice* port = node.pci_device("0000:17:00.0");
  ASSERT_NE(port, nullptr);
  ASSERT_TRUE(port->config.acs.is_known()) << port->config.acs.reason;
  EXPECT_EQ(port->config.acs.value.control, 0);
  const PciDevice* gpu = node.pci_device("0000:1b:00.0");
  ASSERT_TRUE(gpu != nullptr && gpu->bars.is_known());
  EXPECT_EQ(gpu->bars.value.at(1).bytes, 128ULL << 30U);
}

TEST(InventoryTrees, ModulesTellVersionParametersAndWhereTheyCameFrom) {
  const Inventory& node = read("hgx_h100_8");
  const ModuleFacts* peermem = node.module("nvidia_peermem");
  ASSERT_NE(peermem, nullptr);
  EXPECT_TRUE(peermem->is_loaded);
  EXPECT_TRUE(peermem->version.is("550.54.15"));
  EXPECT_TRUE(peermem->parameters.at("peerdirect_support").is("0"));
  EXPECT_TRUE(peermem->file.is("/lib/modules/5.15.0-105-generic/updates/dkms/nvidia-peermem.ko"));
  EXPECT_TRUE(peermem->file_modified_unix_seconds.is(1712000000));
  EXPECT_THAT(node.autoload.value, Contains(Key("nvidia_peermem")));
  EXPECT_THAT(node.module("ib_core")->holders, Contains("nvidia_peermem"));
  EXPECT_TRUE(node.services.at("nvidia-fabricmanager").enablement.is("enabled"));
  EXPECT_TRUE(node.services.at("nvidia-fabricmanager").active.is(true));
  EXPECT_TRUE(node.services.at("nv_peer_mem").enablement.is_absent());
}

TEST(InventoryTrees, TheLegacyModuleAndItsServiceAreSeenBesideTheNewOne) {
  const Inventory& node = read("h100_legacy_peermem");
  EXPECT_TRUE(node.is_loaded("nv_peer_mem"));
  EXPECT_TRUE(node.is_loaded("nvidia_peermem"));
  EXPECT_TRUE(node.services.at("nv_peer_mem").enablement.is("enabled"));
  EXPECT_EQ(node.services.at("nv_peer_mem").enablement.source, "/etc/init.d/nv_peer_mem");
  EXPECT_THAT(node.packages.value, Contains(Key("nvidia-peer-memory-dkms")));
}

// As soft-RoCE has them: the folder lists its 1,024 places in no order, and few are taken.
TEST(InventoryTrees, GidsAreFoundAmongManyEmptyPlaces) {
  NodeTree tree("hgx_a100_8");
  std::string places;
  for (int index = 4; index < 1024; ++index)
    places += fmt::format("sys/class/infiniband/mlx5_0/ports/1/gids/{} = {}\n", index,
                          index == 60 ? "0000:0000:0000:0000:0000:ffff:c000:0201"
                                      : "0000:0000:0000:0000:0000:0000:0000:0000");
  tree.apply(places);
  std::vector<std::uint32_t> found;
  const Inventory node = read_tree(tree);
  for (const GidEntry& entry : node.rdma.at(0).ports.at(0).gids) found.push_back(entry.index);
  EXPECT_THAT(found, ElementsAre(0, 1, 2, 3, 60));
}

TEST(InventoryTrees, RoceTellsItsGidsAndQualityOfService) {
  const Inventory& node = read("hgx_a100_8");
  ASSERT_THAT(node.rdma, SizeIs(8));
  const RdmaPort& port = node.rdma[0].ports.at(0);
  EXPECT_TRUE(port.link_layer.is("ethernet"));
  ASSERT_THAT(port.gids, SizeIs(4)) << "the empty one is left out";
  EXPECT_EQ(port.gids[3].type, "RoCE v2");
  EXPECT_EQ(port.gids[3].netdev, "enp0np0");
  const NetDevice* net = node.net("enp0np0");
  ASSERT_NE(net, nullptr);
  EXPECT_TRUE(net->mtu_bytes.is(9000));
  EXPECT_TRUE(net->qos.at("qos/trust").is("dscp"));
  EXPECT_TRUE(net->qos.at("ecn/roce_np/enable/3").is("1"));
  EXPECT_TRUE(node.nic_settings.at("mlx5_0:1/default_roce_tos").is("106"));
  EXPECT_EQ(node.nccl_conf.value.at("NCCL_IB_TC"), "106");
  EXPECT_TRUE(node.gpu_driver_flavour.is("proprietary"));
}

TEST(InventoryTrees, WhatNeedsPrivilegeIsUnknownAndSaysSo) {
  const Inventory& node = read("h100_unprivileged");
  const PciDevice* port = node.pci_device("0000:17:00.0");
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(port->config.acs.state, FactState::kUnknown);
  EXPECT_THAT(port->config.acs.reason, HasSubstr("CAP_SYS_ADMIN"));
  EXPECT_TRUE(port->link_width.is(16)) << "the rest is told";
}

TEST(InventoryTrees, AVirtualMachineIsOne) {
  const Inventory& node = read("vm_gpu_vf");
  EXPECT_TRUE(node.is_virtual_machine.is(true));
  ASSERT_THAT(node.gpus, SizeIs(1));
  EXPECT_TRUE(node.pci_device("0000:00:05.0")->numa_node.is(-1));
  EXPECT_TRUE(node.pci_device("0000:00:06.0")->config.ats_enabled.is(true));
  EXPECT_TRUE(node.limits.memlock_soft_bytes.is(8388608));
}

// Its CPU has no flag that would show it.
TEST(InventoryTrees, AnArmMachineIsVirtualByItsBoardsName) {
  const auto of = [](const std::string& edits) {
    NodeTree tree("gh200");
    tree.apply(edits);
    return read_tree(tree).is_virtual_machine;
  };
  const std::string ec2 = "sys/class/dmi/id/sys_vendor = Amazon EC2\n";
  EXPECT_TRUE(of("").is(false));
  EXPECT_TRUE(of(ec2 + "sys/class/dmi/id/product_name = g5g.16xlarge\n").is(true));
  EXPECT_TRUE(of(ec2 + "sys/class/dmi/id/product_name = g5g.metal\n").is(false));
  EXPECT_TRUE(of("sys/class/dmi/id/sys_vendor = QEMU\n").is(true));
  EXPECT_EQ(of("remove sys/class/dmi\n").state, FactState::kUnknown);
}

TEST(InventoryTrees, ANodeWithoutRdmaOrGpuHasItsInterface) {
  const Inventory& node = read("ethernet_10g");
  EXPECT_THAT(node.rdma, IsEmpty());
  EXPECT_THAT(node.gpus, IsEmpty());
  ASSERT_THAT(node.nets, SizeIs(1));
  EXPECT_EQ(node.nets[0].driver, "ixgbe");
  EXPECT_TRUE(node.nccl.is_absent());
  EXPECT_TRUE(node.peer_memory_symbol.is_absent());
}

TEST(InventoryTrees, ASuperchipOfAnotherArchitectureIsRead) {
  const Inventory& node = read("gh200");
  ASSERT_THAT(node.gpus, SizeIs(1));
  EXPECT_EQ(node.gpus[0].pci_address, "0009:01:00.0");
  EXPECT_TRUE(node.cpu.vendor.is("ARM"));
  EXPECT_TRUE(node.huge_page_bytes.is(512ULL << 20U));
}

TEST(InventoryTrees, SoftRoceHasNoPciAddress) {
  const Inventory& node = read("soft_roce");
  ASSERT_THAT(node.rdma, SizeIs(1));
  EXPECT_EQ(node.rdma[0].pci_address, "");
  EXPECT_EQ(node.rdma[0].driver, "rdma_rxe");
  EXPECT_THAT(node.rdma[0].netdevs, ElementsAre("eth0"));
}

TEST(InventoryTrees, ABadFileSpoilsItsOwnFactAlone) {
  const Inventory& node = read("broken_files");
  const PciDevice* nic = node.pci_device("0000:18:00.0");
  ASSERT_NE(nic, nullptr);
  EXPECT_EQ(nic->numa_node.state, FactState::kError);
  EXPECT_EQ(nic->link_gigatransfers.state, FactState::kError);
  EXPECT_EQ(nic->link_width.state, FactState::kError);
  EXPECT_EQ(nic->config.pcie.state, FactState::kError);
  EXPECT_EQ(nic->bars.state, FactState::kError);
  EXPECT_TRUE(nic->max_link_width.is(16)) << "its neighbour is well";
  EXPECT_EQ(node.pci_device("0000:1b:00.0")->config.pcie.state, FactState::kError);
  ASSERT_THAT(node.rdma, SizeIs(8));
  EXPECT_EQ(node.rdma[1].ports.at(0).state.state, FactState::kError);
  EXPECT_EQ(node.rdma[1].ports.at(0).rate_bits_per_second.state, FactState::kError);
  EXPECT_EQ(node.rdma[2].ports.at(0).state.state, FactState::kError);
  EXPECT_EQ(node.rdma[3].node_guid.state, FactState::kError);
  EXPECT_TRUE(node.rdma[4].node_guid.is_known());
  EXPECT_EQ(node.limits.memlock_soft_bytes.state, FactState::kError);
  EXPECT_EQ(node.cpu.model.state, FactState::kError);
  EXPECT_TRUE(node.kernel_release.is("5.15.0-105-generic"));
}

}  // namespace
}  // namespace railgauge::agent
