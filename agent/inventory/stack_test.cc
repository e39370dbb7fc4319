// Stacks of synthetic nodes.
#include "agent/inventory/stack.h"
#include "agent/inventory/read_inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/read_tree.h"

namespace railgauge::agent {
namespace {
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

Inventory read(const NodeTree& tree) { return read_tree(tree); }
Stack stack(const std::string& name) { return stack_of(read_tree(name), "1.2.3"); }

TEST(Stack, NamesWhatAnUpgradeChanges) {
  const Stack node = stack("hgx_h100_8");
  EXPECT_THAT(
      node.versions,
      AllOf(Contains(Pair("railgauge", "1.2.3")),
            Contains(Pair("linux_kernel", "5.15.0-105-generic")),
            Contains(Pair("gpu_driver", "550.54.15")), Contains(Pair("gpu_driver_flavour", "open")),
            Contains(Pair("gpu_vbios", "96.00.89.00.01")), Contains(Pair("cuda", "12.4.1")),
            Contains(Pair("nccl", "2.21.5")),
            Contains(Pair("ofed", "MLNX_OFED_LINUX-24.04-0.6.6.0 (mlx5_core 24.04-0.6.6)")),
            Contains(Pair("rdma_core", "50.0")),
            Contains(Pair("nic_firmware.MT4129", "28.39.1002")),
            Contains(Pair("bios", "1.04.05"))));
  EXPECT_THAT(node.versions, Contains(Pair("fabric_manager", "550.54.15-1")));
  EXPECT_THAT(
      node.settings,
      AllOf(Contains(Pair("kernel_command_line", "iommu=pt ro")),
            Contains(Pair("acs_on_gpu_nic_paths", "off")),
            Contains(Pair("nic_max_read_request_bytes", "4096")),
            Contains(Pair("nic_relaxed_ordering", "on")), Contains(Pair("nic_mtu_bytes", "4092")),
            Contains(Pair("gpu_bar1_bytes", "137438953472")),
            Contains(Pair("peer_memory_path", "nvidia_peermem dma-buf")),
            Contains(Pair("module.nvidia_peermem.persistent_api_support", "1")),
            Contains(Pair("autoload", HasSubstr("nvidia_peermem")))));
}

TEST(Stack, TheWindowIntoAGpusMemoryIsItsLargestRegionWhereverItStands) {
  const std::vector<PciBar> ampere{{.bytes = 1U << 24U},
                                   {.bytes = 1ULL << 36U, .is_prefetchable = true},
                                   {.bytes = 1U << 25U, .is_prefetchable = true}};
  EXPECT_EQ(memory_window_bytes(ampere), 1ULL << 36U);
  const std::vector<PciBar> hopper{{.bytes = 1U << 24U, .is_prefetchable = true},
                                   {.bytes = 1ULL << 38U, .is_prefetchable = true},
                                   {.bytes = 1U << 25U, .is_prefetchable = true}};
  EXPECT_EQ(memory_window_bytes(hopper), 1ULL << 38U);
  EXPECT_EQ(memory_window_bytes({}), 0U);
}

TEST(Stack, TheSameNodeReadTwiceIsTheSame) {
  const NodeTree tree("hgx_a100_8");
  const Stack first = stack_of(read(tree), "1");
  const Stack second = stack_of(read(tree), "1");
  EXPECT_EQ(first.versions, second.versions);
  EXPECT_EQ(first.settings, second.settings);
}

TEST(Stack, AnUpgradeThatResetsASettingShowsInBothParts) {
  const Stack before = stack("hgx_h100_8");
  const Stack after = stack("h100_upgraded");
  EXPECT_THAT(before.settings, Contains(Pair("nic_max_read_request_bytes", "4096")));
  EXPECT_THAT(after.settings, Contains(Pair("nic_max_read_request_bytes", "512")));
  EXPECT_THAT(after.versions, Contains(Pair("nic_firmware.MT4129", "28.43.1014")));
  EXPECT_THAT(after.versions, Contains(Pair("ofed", HasSubstr("24.10-0.7.0.0"))));
  EXPECT_THAT(after.settings, Contains(Pair("peer_memory_path", "dma-buf")));
}

TEST(Stack, AcsThatRedirectsIsASetting) {
  EXPECT_THAT(stack("h100_acs_on").settings, Contains(Pair("acs_on_gpu_nic_paths", "SV+RR+CR+UF")));
}

TEST(Stack, WhatCannotBeReadIsUnknownAndNotLeftOut) {
  const Stack node = stack("h100_unprivileged");
  EXPECT_THAT(node.settings, AllOf(Contains(Pair("nic_max_read_request_bytes", "unknown")),
                                   Contains(Pair("acs_on_gpu_nic_paths", "unknown"))));
  EXPECT_THAT(node.settings, Contains(Pair("gpu_bar1_bytes", "137438953472")));
}

TEST(Stack, TheFirmwareConfigurationOfANicIsToldToBeUnknown) {
  EXPECT_THAT(stack("hgx_h100_8").settings,
              Contains(Pair("nic_firmware_configuration", "unknown")));
  EXPECT_THAT(stack("ethernet_10g").settings, Not(Contains(Key("nic_firmware_configuration"))));
}

TEST(Stack, WhereDevicesDifferEachValueNamesThem) {
  NodeTree tree("hgx_h100_8");
  tree.apply("sys/class/infiniband/mlx5_3/fw_ver = 28.40.1000\n");
  EXPECT_THAT(stack_of(read(tree), "1").versions,
              Contains(Pair("nic_firmware.MT4129",
                            "28.39.1002: 0000:18:00.0 0000:40:00.0 0000:4f:00.0 0000:9a:00.0 "
                            "0000:c0:00.0 0000:ce:00.0 0000:dc:00.0; 28.40.1000: 0000:5e:00.0")));
}

TEST(Stack, SiteSettingsOfNcclAndQualityOfServiceArePartOfIt) {
  EXPECT_THAT(stack("hgx_a100_8").settings, AllOf(Contains(Pair("nccl_conf.NCCL_IB_TC", "106")),
                                                  Contains(Pair("qos.qos/trust", "dscp")),
                                                  Contains(Pair("qos.ecn/roce_np/enable/3", "1"))));
}

TEST(Stack, NamesEachMpiOfTheAgentsSetting) {
  NodeTree tree;
  tree.apply(
      "opt/hpcx/ompi/lib/pkgconfig/ompi.pc |\n  Name: Open MPI\n  Version: 4.1.7a1\n"
      "opt/hpcx/ucx/lib/pkgconfig/ucx.pc |\n  Version: 1.17.0\n"
      "opt/mv/lib64/pkgconfig/mpich.pc |\n  Version: 3.2\n"
      "opt/mv/lib64/pkgconfig/mvapich2.pc |\n  Version: 2.3.7\n"
      "opt/bare/lib/libmpi.so.40 -> libmpi.so.40.30.4\n"
      "opt/empty/bin /\n");
  const auto named = read_installations(
      "hpcx=openmpi:/opt/hpcx/ompi:/opt/hpcx/ucx/lib,mv=mpich:/opt/mv,bare=openmpi:/opt/bare,"
      "empty=mpich:/opt/empty,gone=mpich:/opt/gone");
  ASSERT_TRUE(named) << named.error().message;
  const auto versions_with = [&](double seconds) {
    const Inventory inventory = read_inventory(
        {.root = tree.root(), .source_seconds = seconds, .mpi_installations = *named});
    return stack_of(inventory, "1").versions;
  };
  EXPECT_THAT(versions_with(60),
              AllOf(Contains(Pair("mpi.hpcx", "openmpi 4.1.7a1, ucx 1.17.0")),
                    Contains(Pair("mpi.mv", "mvapich2 2.3.7")),
                    Contains(Pair("mpi.bare", "openmpi library 40.30.4")),
                    Contains(Pair("mpi.empty", "unknown")), Not(Contains(Key("mpi.gone")))));
}

TEST(Stack, ANodeWithoutGpuOrRdmaHasNoPartsOfThem) {
  const Stack node = stack("ethernet_10g");
  EXPECT_THAT(node.versions, Not(Contains(Key("gpu_driver"))));
  EXPECT_THAT(node.versions, Not(Contains(Key("ofed"))));
  EXPECT_THAT(node.settings, Not(Contains(Key("peer_memory_path"))));
}

TEST(Described, FactsTellLinksDistancesAndLimits) {
  const Words words = described_facts(read_tree("hgx_h100_8"));
  EXPECT_THAT(words, AllOf(Contains(Pair("gpus", "8")), Contains(Pair("gpu0.pcie", "32 GT/s x16")),
                           Contains(Pair("gpu0.nearest_nics", "mlx5_0")),
                           Contains(Pair("mlx5_0:1.state", "active")),
                           Contains(Pair("mlx5_0.cpus", "0-55,112-167")),
                           Contains(Pair("memlock_bytes", "unlimited")),
                           Contains(Pair("numa_nodes", "2"))));
  EXPECT_THAT(words.at("gpu0.distances"), HasSubstr("mlx5_0=PIX mlx5_1=NODE"));
}

// A value that resets by itself would start a needless epoch, or a needless new stream.
TEST(Described, AnIdleGpusLinkIsNoFact) {
  NodeTree tree("hgx_h100_8");
  const Inventory before = read(tree);
  tree.apply(
      "sys/bus/pci/devices/0000:1b:00.0/current_link_speed = 2.5 GT/s PCIe\n"
      "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error = 7\n");
  EXPECT_EQ(described_facts(read(tree)), described_facts(before));
}

}  // namespace
}  // namespace railgauge::agent
