#include "controller/cli/report/fact_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::cli {
namespace {
using railgauge::api::NodeInfo;
using railgauge::api::NodeList;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

NodeInfo& add(NodeList& list, const std::string& name) {
  NodeInfo& node = *list.add_nodes();
  node.set_name(name);
  return node;
}
void say(NodeInfo& node, const std::string& fact, const std::string& value) {
  (*node.mutable_facts())[fact] = value;
}
std::vector<std::string> names_of(const NodesDiff& diff) {
  std::vector<std::string> names;
  for (const FactDifference& row : diff.differences()) names.push_back(row.name());
  return names;
}

TEST(FactDiff, TwoNodesDifferWhereTheirValuesDo) {
  NodeList a;
  NodeList b;
  say(add(a, "good"), "mlx5_0.pcie", "32 GT/s x16");
  say(*a.mutable_nodes(0), "cpu", "x");
  say(add(b, "slow"), "mlx5_0.pcie", "32 GT/s x8");
  say(*b.mutable_nodes(0), "cpu", "x");
  const NodesDiff diff = diff_nodes(a, b);
  EXPECT_THAT(names_of(diff), ElementsAre("mlx5_0.pcie"));
  EXPECT_EQ(diff.differences(0).b_values(0).value(), "32 GT/s x8");
  EXPECT_THAT(diff.a(), ElementsAre("good"));
}

TEST(FactDiff, VersionsAndSettingsAreTold) {
  NodeList a;
  NodeList b;
  (*add(a, "n1").mutable_stack_versions())["ofed"] = "5.8";
  (*a.mutable_nodes(0)->mutable_stack_settings())["acs"] = "off";
  (*add(b, "n2").mutable_stack_versions())["ofed"] = "24.04";
  (*b.mutable_nodes(0)->mutable_stack_settings())["acs"] = "RR";
  const NodesDiff diff = diff_nodes(a, b);
  ASSERT_THAT(diff.differences(), SizeIs(2));
  EXPECT_EQ(diff.differences(0).part(), "setting");
  EXPECT_EQ(diff.differences(1).part(), "version");
}

TEST(FactDiff, OfSetsWhatSeparatesThemBestComesFirst) {
  NodeList good;
  NodeList slow;
  for (int i = 0; i < 4; ++i) {
    NodeInfo& node = add(good, "g" + std::to_string(i));
    say(node, "serial", "g" + std::to_string(i));
    say(node, "firmware", i == 0 ? "old" : "new");
    say(node, "ordering", "on");
  }
  for (int i = 0; i < 3; ++i) {
    NodeInfo& node = add(slow, "s" + std::to_string(i));
    say(node, "serial", "s" + std::to_string(i));
    say(node, "firmware", "old");
    say(node, "ordering", "off");
  }
  const NodesDiff diff = diff_nodes(good, slow);
  EXPECT_THAT(names_of(diff), ElementsAre("ordering", "firmware"))
      << "a serial number separates nothing";
  EXPECT_DOUBLE_EQ(diff.differences(0).separation(), 1);
  EXPECT_EQ(diff.differences(1).a_values(0).value(), "new");
  EXPECT_EQ(diff.differences(1).a_values(0).nodes(), 3u);
  EXPECT_EQ(diff.differences(1).a_values(1).nodes(), 1u);
}

TEST(FactDiff, WhatOneSideDoesNotHaveIsADifferenceAndUnknownIsNone) {
  NodeList a;
  NodeList b;
  say(add(a, "n1"), "loaded.nvidia_peermem", "550");
  say(*a.mutable_nodes(0), "acs", "off");
  say(add(b, "n2"), "acs", "unknown");
  const NodesDiff diff = diff_nodes(a, b);
  EXPECT_THAT(names_of(diff), ElementsAre("loaded.nvidia_peermem"));
  EXPECT_FALSE(diff.differences(0).b_values(0).has_value());
}

TEST(FactDiff, ASetIsNotToldFromItself) {
  NodeList a;
  for (const char* name : {"n1", "n2"}) say(add(a, name), "x", name);
  EXPECT_THAT(diff_nodes(a, a).differences(), IsEmpty());
}

}  // namespace
}  // namespace railgauge::cli
