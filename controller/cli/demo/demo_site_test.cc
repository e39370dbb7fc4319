#include "controller/cli/demo/demo_site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "controller/plan/topology/node_set.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;

// The leaf of each node, by the lines of the file.
std::map<std::string, std::string> leaf_of_nodes(std::uint32_t nodes) {
  std::map<std::string, std::string> leaves;
  std::istringstream lines(demo_leaves(nodes));
  for (std::string set, leaf; lines >> set >> leaf;) {
    const auto parsed = plan::parse_node_set(set);
    EXPECT_TRUE(parsed) << set;
    if (!parsed) return leaves;
    for (const plan::NodeSet::Item& item : parsed->included)
      for (const std::string& name : item.names)
        EXPECT_TRUE(leaves.emplace(name, leaf).second) << name << " is there twice";
  }
  return leaves;
}

TEST(DemoSite, EveryNodeHasTheLeafThatTheScenarioGivesIt) {
  for (const std::uint32_t nodes : {16U, 20U, 64U, 1'001U}) {
    const auto leaves = leaf_of_nodes(nodes);
    EXPECT_EQ(leaves.size(), nodes);
    const std::uint32_t count = (nodes + 7) / 8;
    EXPECT_THAT(demo_scenario(nodes, "2026-01-05"), HasSubstr("leaves: " + std::to_string(count)));
    std::uint32_t node = 0;
    for (const auto& [name, leaf] : leaves)
      EXPECT_EQ(leaf, "leaf=L" + std::to_string(node++ * count / nodes)) << name;
  }
}

TEST(DemoSite, TheSlowNodeIsNotUpgradedAndBothAreOfTheSite) {
  for (const std::uint32_t nodes : {kLeastDemoNodes, kUsualDemoNodes, kMostDemoNodes}) {
    const auto leaves = leaf_of_nodes(nodes);
    const DemoNames names = demo_names(nodes);
    EXPECT_TRUE(leaves.contains(names.bad_node));
    const auto upgraded = plan::parse_node_set(names.upgraded);
    ASSERT_TRUE(upgraded);
    for (const std::string& name : upgraded->included.at(0).names) {
      EXPECT_TRUE(leaves.contains(name)) << name;
      EXPECT_NE(name, names.bad_node);
    }
  }
}

}  // namespace
}  // namespace railgauge::cli
