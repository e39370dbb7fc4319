#include "controller/plan/policy/partners.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::plan {
namespace {

std::vector<PartnerNode> site_nodes(std::size_t count, const std::string& hardware,
                                    const std::string& head = "n") {
  std::vector<PartnerNode> nodes;
  for (std::size_t i = 0; i < count; ++i)
    nodes.push_back({.name = fmt::format("{}{}", head, i),
                     .hardware = hardware,
                     .leaf = fmt::format("L{}", i / 8)});
  return nodes;
}

TEST(Partners, AreOfTheSameHardwareAndFromAllLeaves) {
  auto good = site_nodes(32, "old", "a");
  const auto same = site_nodes(32, "new", "b");
  good.insert(good.end(), same.begin(), same.end());
  const auto partners = choose_partners(site_nodes(1, "new", "x"), good);
  ASSERT_EQ(partners.size(), kFewestPartners);
  std::set<std::string> leaves;
  for (const std::string& name : partners) {
    EXPECT_EQ(name.front(), 'b');
    leaves.insert(std::ranges::find(good, name, &PartnerNode::name)->leaf);
  }
  EXPECT_EQ(leaves.size(), 4U);
}

TEST(Partners, AreAsManyAsTheNodesWithinBounds) {
  const auto good = site_nodes(500, "k", "g");
  EXPECT_EQ(choose_partners(site_nodes(1, "k"), good).size(), kFewestPartners);
  EXPECT_EQ(choose_partners(site_nodes(20, "k"), good).size(), 20U);
  EXPECT_EQ(choose_partners(site_nodes(200, "k"), good).size(), kMostPartners);
}

TEST(Partners, OfOtherHardwareAreBetterThanNone) {
  EXPECT_EQ(choose_partners(site_nodes(2, "k"), site_nodes(9, "other", "g")).size(),
            kFewestPartners);
  EXPECT_TRUE(choose_partners(site_nodes(2, "k"), {}).empty());
}

TEST(Partners, AreEachChosenOnceAndNeverOfTheProved) {
  std::mt19937 random(11);
  for (int i = 0; i < 200; ++i) {
    auto good = site_nodes(random() % 80, "k");
    for (PartnerNode& node : good) node.hardware = fmt::format("k{}", random() % 3);
    std::vector<PartnerNode> proved;
    for (const PartnerNode& node : good)
      if (random() % 4 == 0) proved.push_back(node);
    const auto partners = choose_partners(proved, good);
    EXPECT_EQ(partners, choose_partners(proved, good));
    const std::set<std::string> once(partners.begin(), partners.end());
    EXPECT_EQ(once.size(), partners.size());
    for (const PartnerNode& node : proved) EXPECT_FALSE(once.contains(node.name));
    EXPECT_GE(partners.size(), std::min(kFewestPartners, good.size() - proved.size()));
  }
}

}  // namespace
}  // namespace railgauge::plan
