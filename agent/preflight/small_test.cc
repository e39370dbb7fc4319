// The small pure functions that the checks use.
#include <gtest/gtest.h>

#include "agent/preflight/rules/cpu_list.h"
#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/remedies.h"
#include "agent/preflight/rules/version.h"
#include "agent/preflight/testing/sample_node.h"

namespace railgauge::agent {
namespace {

TEST(Version, TheFirstNumberOfTheTextCounts) {
  EXPECT_EQ(version_of("MLNX_OFED_LINUX-24.10-0.7.0.0"), (std::vector<unsigned>{24, 10}));
  EXPECT_EQ(version_of("6.8.0-48-generic"), (std::vector<unsigned>{6, 8, 0}));
  EXPECT_TRUE(version_of("none").empty());
  EXPECT_EQ(version_of("99999999999999999999").size(), 1U);
}

TEST(Version, PartsAreComparedAsNumbersAndMissingOnesAreZero) {
  EXPECT_TRUE(at_least("5.12", "5.12.0"));
  EXPECT_TRUE(at_least("5.100", "5.12"));
  EXPECT_FALSE(at_least("5.4.0-1", "5.12"));
  EXPECT_TRUE(at_least("418.40.04", "418.40"));
  EXPECT_FALSE(at_least("", "1"));
}

// A container has some of its machine's GPUs; one without a driver is the node's own trouble.
TEST(HiddenGpus, AreNotJudgedAndOthersAre) {
  Inventory node = sample_node();
  ASSERT_EQ(node.gpus.size(), 1U);
  for (const char* state : {"hidden", "no_driver"}) {
    node.gpus.push_back(node.gpus[0]);
    node.gpus.back().state = state;
  }
  leave_out_hidden_gpus(node);
  ASSERT_EQ(node.gpus.size(), 2U);
  EXPECT_NE(node.gpus[0].state, "hidden");
  EXPECT_EQ(node.gpus[1].state, "no_driver");
}

TEST(CpuList, RangesAndNonsense) {
  EXPECT_EQ(processors_of("0-2,7"), (std::set<unsigned>{0, 1, 2, 7}));
  EXPECT_EQ(processors_of("3-1"), (std::set<unsigned>{}));
  EXPECT_TRUE(processors_of("\xff,x,-").empty());
  EXPECT_LE(processors_of("0-4294967295").size(), kMaxProcessor + 1U);
  EXPECT_TRUE(lists_meet("0-3", "3-9"));
  EXPECT_FALSE(lists_meet("0-3", "4-9"));
}

TEST(Pairs, PortsBetweenAreThoseBelowTheLastCommonBridge) {
  const Inventory node = sample_node();
  const auto pairs = nearest_pairs(node);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].distance, "PIX");
  EXPECT_EQ(pairs[0].subject(), "gpu0+mlx5_0");
  EXPECT_EQ(pairs[0].ports_between(), (std::vector<std::string>{kSampleGpuPort, kSampleNicPort}));
}

TEST(Pairs, AGpuIsPairedWithItsNearestNicAlone) {
  Inventory node = sample_node();
  RdmaDevice far = node.rdma[0];
  far.name = "mlx5_1";
  far.pci_address = "0000:81:00.0";
  node.rdma.push_back(far);
  PciDevice device = node.pci[kSampleNic];
  device.address = far.pci_address;
  device.host_bridge = "pci0000:80";
  device.numa_node = told(1);
  node.pci[far.pci_address] = device;
  EXPECT_EQ(all_pairs(node).size(), 2U);
  ASSERT_EQ(nearest_pairs(node).size(), 1U);
  EXPECT_EQ(nearest_pairs(node)[0].nic->name, "mlx5_0");
}

TEST(Pairs, PortsThatAreDownAreLeftOutUnlessAllAre) {
  Inventory node = sample_node();
  node.rdma.push_back(node.rdma[0]);
  node.rdma[1].name = "mlx5_1";
  node.rdma[1].ports[0].state.value = "down";
  EXPECT_EQ(fabric_nics(node).size(), 1U);
  node.rdma[0].ports[0].state.value = "down";
  EXPECT_EQ(fabric_nics(node).size(), 2U);
}

TEST(Remedies, CommandsAreTheDistributionsOwn) {
  Inventory node = sample_node();
  const auto with = [&](const char* id, const char* like) {
    node.distribution.value = id;
    node.distribution_like.value = like;
  };
  EXPECT_EQ(uninstall_command(node, "a", "b"), "apt-get purge a");
  with("rocky", "rhel centos fedora");
  EXPECT_EQ(uninstall_command(node, "a", "b"), "dnf remove b");
  EXPECT_EQ(kernel_argument_commands(node, "iommu=pt").front(),
            "grubby --update-kernel=ALL --args=\"iommu=pt\" && reboot");
  with("sles", "suse");
  EXPECT_EQ(uninstall_command(node, "a", "b"), "zypper remove b");
  with("opensuse-leap", "suse opensuse");
  EXPECT_EQ(uninstall_command(node, "a", "b"), "zypper remove b");
  with("solus", "");
  EXPECT_TRUE(uninstall_command(node, "a", "b").starts_with("#")) << "no Oracle Linux (ol)";
  with("ol", "fedora");
  EXPECT_EQ(uninstall_command(node, "a", "b"), "dnf remove b");
  with("arch", "");
  EXPECT_TRUE(uninstall_command(node, "a", "b").starts_with("#"));
}

TEST(Remedies, TheOpenDriverHasAnotherNameOnEachDistribution) {
  Inventory node = sample_node();
  const auto last_on = [&](const char* id, const char* like, const char* version) {
    node.distribution.value = id;
    node.distribution_like.value = like;
    node.distribution_version.value = version;
    return open_driver_commands(node).back();
  };
  EXPECT_EQ(last_on("ubuntu", "debian", "22.04"),
            "apt-get install nvidia-driver-550-server-open && reboot");
  EXPECT_EQ(last_on("debian", "", "12"), "apt-get install nvidia-open && reboot");
  EXPECT_EQ(last_on("rocky", "rhel centos fedora", "9.4"),
            "dnf module switch-to nvidia-driver:open-dkms && reboot");
  EXPECT_EQ(last_on("rhel", "fedora", "10.0"), "dnf install --allowerasing nvidia-open && reboot");
  EXPECT_EQ(last_on("amzn", "fedora", "2023"), "dnf install --allowerasing nvidia-open && reboot");
  EXPECT_EQ(last_on("sles", "suse", "15.6"),
            "zypper install nvidia-open-driver-G06-signed-kmp-default && reboot");
}

}  // namespace
}  // namespace railgauge::agent
