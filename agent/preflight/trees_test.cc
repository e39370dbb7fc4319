// All checks over whole nodes, read from files as the agent reads them. The trees are synthetic.
#include <algorithm>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/testing/tree_report.h"
#include "agent/preflight/text.h"
#include "agent/testing/node_tree.h"
#include "agent/testing/read_tree.h"
#include "controller/api/preflight.h"

namespace railgauge::agent {
namespace {

api::PreflightReport report_of(const std::string& tree, std::set<std::string> required = {}) {
  return report_on(read_tree(tree), std::move(required));
}

struct Expected {
  const char* tree;
  const char* check;
  const char* state;
};

class Trees : public testing::TestWithParam<Expected> {};

TEST_P(Trees, ACheckSaysWhatTheTreeWasMadeFor) {
  const auto& [tree, check, state] = GetParam();
  const api::PreflightReport report = report_of(tree);
  EXPECT_EQ(state_of(report, check), state) << preflight_text(report).substr(0, 4000);
}

INSTANTIATE_TEST_SUITE_P(
    Nodes, Trees,
    testing::Values(
        Expected{"hgx_h100_8", "acs", "pass"}, Expected{"hgx_h100_8", "peer_memory_client", "pass"},
        Expected{"hgx_h100_8", "peer_memory_conflict", "pass"},
        Expected{"hgx_h100_8", "gpu_nic_distance", "pass"},
        Expected{"hgx_h100_8", "port_state", "pass"}, Expected{"hgx_h100_8", "pcie_link", "pass"},
        Expected{"hgx_h100_8", "pcie_read_request", "pass"},
        Expected{"hgx_h100_8", "minimum_versions", "pass"}, Expected{"h100_acs_on", "acs", "fail"},
        Expected{"h100_unprivileged", "acs", "unknown"},
        Expected{"h100_unprivileged", "pcie_read_request", "unknown"},
        Expected{"h100_legacy_peermem", "peer_memory_conflict", "fail"},
        Expected{"h100_no_gdr", "peer_memory_client", "fail"},
        Expected{"h100_upgraded", "pcie_read_request", "warn"},
        Expected{"hgx_a100_8", "gid", "pass"}, Expected{"hgx_a100_8", "mtu", "pass"},
        Expected{"hgx_a100_8", "gpu_nic_distance", "pass"},
        Expected{"pcie_4_far_nic", "gpu_nic_distance", "warn"},
        Expected{"gb300_data_direct", "acs", "pass"},
        Expected{"gb300_data_direct", "iommu", "pass"},
        Expected{"gb300_data_direct", "gpu_nic_distance", "pass"},
        Expected{"gh200", "gpu_nic_distance", "waived"}, Expected{"vm_gpu_vf", "acs", "waived"},
        Expected{"vm_gpu_vf", "iommu", "waived"}, Expected{"vm_gpu_vf", "pcie_link", "unknown"},
        Expected{"vm_gpu_vf", "gpu_nic_distance", "unknown"},
        Expected{"ethernet_10g", "port_state", "waived"},
        Expected{"ethernet_10g", "gpudirect_registration", "waived"},
        Expected{"ethernet_10g", "cpu_power", "warn"}, Expected{"soft_roce", "port_state", "pass"},
        Expected{"soft_roce", "acs", "waived"}),
    [](const auto& each) { return std::string(each.param.tree) + "_" + each.param.check; });

TEST(NodeTrees, ANodeInOrderHasNeitherFailureNorError) {
  for (const char* tree : {"hgx_h100_8", "hgx_a100_8"}) {
    const api::PreflightReport report = report_of(tree);
    EXPECT_EQ(api::preflight_exit_code(report, {}), 0) << preflight_text(report).substr(0, 8000);
  }
}

// Which path a dma-buf takes on each board, and the reason that preflight prints.
TEST(NodeTrees, ADmaBufsMappingFollowsTheBoard) {
  const auto mappings = [](const char* tree) {
    NodeTree node;
    node.apply(std::string("include ") + tree + "\n");
    const Inventory inventory = read_tree(node);
    std::set<std::string> found;
    for (const GpuNicPair& pair : all_pairs(inventory))
      found.insert(pair.nic->name + " " +
                   std::string(mapping_words(dmabuf_mapping(inventory, pair).mapping)));
    return found;
  };
  for (const char* tree : {"hgx_h100_8", "hgx_b200_8"}) {
    const auto found = mappings(tree);
    EXPECT_EQ(found.size(), 8U) << tree;
    for (const std::string& one : found) EXPECT_THAT(one, testing::EndsWith(" default")) << tree;
  }
  EXPECT_EQ(mappings("gh200"), (std::set<std::string>{"mlx5_0 default"}));
  EXPECT_EQ(mappings("gb200"), (std::set<std::string>{"mlx5_0 default", "mlx5_1 pcie"}));
  EXPECT_EQ(mappings("gb300_data_direct"), (std::set<std::string>{"mlx5_0 data-direct"}));
  const CheckResults results = find_check("gpu_nic_distance")->judge({.node = read_tree("gb200")});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].observed,
            "PIX; a dma-buf takes mapping pcie: the NIC shares a bridge with the coherent GPU");
}

TEST(NodeTrees, AnIommuThatTranslatesForAGpuFails) {
  NodeTree tree;
  tree.apply(
      "include h100_no_gdr\n"
      "sys/kernel/iommu_groups/7/type = DMA-FQ\n"
      "sys/bus/pci/devices/0000:1b:00.0/iommu_group => sys/kernel/iommu_groups/7\n");
  const Inventory node = read_tree(tree);
  const CheckResults results = judge_iommu({.node = node});
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].state, CheckState::kFail) << results[0].observed;
  EXPECT_THAT(results[0].observed, testing::HasSubstr("0000:1b:00.0 (DMA-FQ)"));
}

TEST(NodeTrees, AFarNicFailsWhereASuiteRequiresARail) {
  EXPECT_EQ(state_of(report_of("pcie_4_far_nic", {"gpu_nic_distance"}), "gpu_nic_distance"),
            "fail");
}

TEST(NodeTrees, EveryTreeGivesACompleteReportWhateverItsFilesHold) {
  for (const std::string& tree : NodeTree::names()) {
    const api::PreflightReport report = report_of(tree);
    for (const Check& check : all_checks())
      EXPECT_TRUE(std::ranges::any_of(report.checks(),
                                      [&](const auto& one) { return one.id() == check.id; }))
          << tree << " " << check.id;
    std::string wire;
    EXPECT_TRUE(report.SerializeToString(&wire)) << tree;
  }
}

// The list of devices is refused, or what one of them is; the driver shows no GPU either.
TEST(NodeTrees, WhereDevicesAreNotToldNoCheckSaysThatThereIsNoGpu) {
  for (const char* refused :
       {"refuse sys/bus/pci/devices\n", "refuse sys/bus/pci/devices/0000:1b:00.0/vendor\n"}) {
    NodeTree tree("one_rail");
    tree.apply(std::string("remove proc/driver/nvidia/gpus\n") + refused);
    const api::PreflightReport report = report_on(read_tree(tree));
    for (const api::PreflightCheck& check : report.checks())
      EXPECT_THAT(check.observed(), testing::Not(testing::HasSubstr("no NVIDIA GPU")))
          << refused << check.id();
    for (const char* id : {"acs", "gpudirect_registration", "gpu_ecc", "bar1_size", "nvlink"})
      EXPECT_EQ(state_of(report, id), "unknown") << refused << id;
  }
}

TEST(NodeTrees, BrokenFilesSpoilTheirOwnFactsAlone) {
  const api::PreflightReport report = report_of("broken_files");
  EXPECT_TRUE(std::ranges::any_of(
      report.checks(), [](const auto& one) { return one.id() == "acs" && one.state() == "pass"; }));
  EXPECT_TRUE(std::ranges::any_of(report.checks(), [](const auto& one) {
    return one.state() == "error" || one.state() == "unknown";
  }));
}

}  // namespace
}  // namespace railgauge::agent
