#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/plan/rounds/seeded.h"
#include "controller/plan/topology/topology_sources.h"

namespace railgauge::plan {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<TopologyNode> nodes_named(const std::vector<std::string>& names) {
  std::vector<TopologyNode> nodes;
  for (const std::string& name : names) nodes.push_back({.name = name});
  return nodes;
}

std::string place_of(const Result<Topology>& topology, const std::string& node) {
  if (!topology) return topology.error().message;
  const auto found = topology->nodes.find(node);
  if (found == topology->nodes.end()) return "nowhere";
  return found->second.pod.empty() ? found->second.leaf
                                   : found->second.pod + "/" + found->second.leaf;
}

TEST(TopologyLabels, AreLinesOfNodeSets) {
  const auto nodes = nodes_named({"gpu001", "gpu002", "gpu017.cluster"});
  const TopologySource source{.source = "labels", .leaf_label = "rack", .pod_label = "row"};
  const auto topology = read_topology(
      source, "# racks\ngpu[001-016] RACK=r1 row=a\ngpu[017-032] rack=r2 row=b  # the new ones\n",
      nodes);
  EXPECT_EQ(place_of(topology, "gpu002"), "a/r1");
  EXPECT_EQ(place_of(topology, "gpu017.cluster"), "b/r2");
}

TEST(TopologyLabels, WithoutTextAreTheNodesOwn) {
  auto nodes = nodes_named({"a", "b"});
  nodes[0].labels = {{"leaf", "l7"}};
  const auto topology = read_topology({.source = "labels"}, "", nodes);
  EXPECT_EQ(place_of(topology, "a"), "l7");
  EXPECT_EQ(place_of(topology, "b"), "nowhere");
  EXPECT_THAT(place_of(read_topology({.source = "labels"}, "", nodes_named({"b"})), "b"),
              HasSubstr("names none of the 1 nodes"));
}

TEST(TopologySlurm, ReadsTreesWithContinuedLines) {
  const auto topology = topology_from_slurm(
      "# topology.conf\nSwitchName=leaf1 Nodes=gpu[001-002] \\\n  LinkSpeed=1\n"
      "switchname=leaf2 nodes=gpu003,gpu[004-005]\nSwitchName=leaf3 Nodes=gpu006\n"
      "SwitchName=spine1 Switches=leaf[1-2]\nSwitchName=spine2 Switches=leaf3\n"
      "SwitchName=core Switches=spine[1-2]\n",
      nodes_named({"gpu001", "gpu004", "gpu006"}));
  EXPECT_EQ(place_of(topology, "gpu001"), "spine1/leaf1");
  EXPECT_EQ(place_of(topology, "gpu004"), "spine1/leaf2");
  EXPECT_EQ(place_of(topology, "gpu006"), "spine2/leaf3");
}

TEST(TopologySlurm, ReadsWhatScontrolPrintsAndBlocks) {
  const auto nodes = nodes_named({"n0", "n3"});
  const auto tree = topology_from_slurm(
      "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-1]\nSwitchName=s1 Level=0 LinkSpeed=1 "
      "Nodes=n[2-3]\nSwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[0-3] Switches=s[0-1]\n",
      nodes);
  EXPECT_EQ(place_of(tree, "n0"), "s0") << "one switch above all is no pod";
  EXPECT_EQ(place_of(tree, "n3"), "s1");
  const auto blocks = topology_from_slurm(
      "BlockName=b1 Nodes=n[0-1]\nBlockName=b2 Nodes=n[2-3]\nBlockSizes=2\n", nodes);
  EXPECT_EQ(place_of(blocks, "n3"), "b2");
}

constexpr std::string_view kDiscovered = R"(#
# Topology file: generated on Sat Nov 22 00:00:00 2025
#
vendid=0x2c9
devid=0xd2f0
sysimgguid=0xb8cef60300000001
switchguid=0xb8cef60300000001(b8cef60300000001)
Switch	65 "S-b8cef60300000001"		# "MF0;leaf1:MQM9700/U1" enhanced port 0 lid 1 lmc 0
[1]	"H-b8cef60300000101"[1](b8cef60300000101) 		# "gpu001 mlx5_0" lid 11 4xNDR
[2]	"H-b8cef60300000102"[1](b8cef60300000102) 		# "other mlx5_0" lid 12 4xNDR
[33]	"S-b8cef60300000009"[1]		# "MF0;spine1:MQM9700/U1" lid 9 4xNDR
[34]	"S-b8cef60300000009"[2]		# "MF0;spine1:MQM9700/U1" lid 9 4xNDR

switchguid=0xb8cef60300000002(b8cef60300000002)
Switch	65 "S-b8cef60300000002"		# "MF0;leaf2:MQM9700/U1" enhanced port 0 lid 2 lmc 0
[1]	"H-b8cef60300000103"[1](b8cef60300000103) 		# "gpu003 mlx5_0" lid 13 4xNDR
[33]	"S-b8cef60300000009"[3]		# "MF0;spine1:MQM9700/U1" lid 9 4xNDR

switchguid=0xb8cef60300000009(b8cef60300000009)
Switch	65 "S-b8cef60300000009"		# "MF0;spine1:MQM9700/U1" enhanced port 0 lid 9 lmc 0
[1]	"S-b8cef60300000001"[33]		# "MF0;leaf1:MQM9700/U1" lid 1 4xNDR
[3]	"S-b8cef60300000002"[33]		# "MF0;leaf2:MQM9700/U1" lid 2 4xNDR

caguid=0xb8cef60300000101
Ca	1 "H-b8cef60300000101"		# "gpu001 mlx5_0"
[1](b8cef60300000101) 	"S-b8cef60300000001"[1]		# lid 11 lmc 0 "MF0;leaf1:MQM9700/U1" lid 1 4xNDR
)";

TEST(TopologyIbnetdiscover, FindsNodesByGuidThenByName) {
  auto nodes = nodes_named({"gpu001", "renamed", "gpu003"});
  nodes[1].guids = {"b8ce:f603:0000:0102"};
  const auto topology = topology_from_ibnetdiscover(kDiscovered, nodes);
  EXPECT_EQ(place_of(topology, "gpu001"), "leaf1");
  EXPECT_EQ(place_of(topology, "renamed"), "leaf1");
  EXPECT_EQ(place_of(topology, "gpu003"), "leaf2");
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->uplinks.at("leaf1"), 2u);
  EXPECT_EQ(topology->uplinks.at("leaf2"), 1u);
}

TEST(TopologyIbnetdiscover, LeavesUnderOtherSpinesAreOtherPods) {
  std::string text(kDiscovered);
  text.replace(text.find("[33]\t\"S-b8cef60300000009\"[3]"), 26, "[33]\t\"S-b8cef6030000000a\"");
  const auto topology = topology_from_ibnetdiscover(text, nodes_named({"gpu001", "gpu003"}));
  EXPECT_EQ(place_of(topology, "gpu001"), "pod1/leaf1");
  EXPECT_EQ(place_of(topology, "gpu003"), "pod2/leaf2");
}

constexpr std::string_view kLinks = R"(CA: gpu001 mlx5_0:
      0xb8cef60300000101     11    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       1    1[  ] "MF0;leaf1:MQM9700/U1" ( )
Switch: 0xb8cef60300000001 MF0;leaf1:MQM9700/U1:
           1    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>      11    1[  ] "gpu001 mlx5_0" ( )
           1    2[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>      12    1[  ] "gpu002 mlx5_0" ( )
           1    3[  ] ==(                Down/ Polling)==>             [  ] "" ( )
           1   33[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       2    1[  ] "MF0;leaf2:MQM9700/U1" ( )
Switch: 0xb8cef60300000002 MF0;leaf2:MQM9700/U1:
           2    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       1   33[  ] "MF0;leaf1:MQM9700/U1" ( )
CA: weird name mlx5_0:
      0xb8cef60300000103     13    1[  ] ==( 4X      106.25 Gbps Active/  LinkUp)==>       2    4[  ] "MF0;leaf2:MQM9700/U1" ( )
)";

TEST(TopologyIblinkinfo, FindsNodesFromBothEndsOfALink) {
  auto nodes = nodes_named({"gpu001", "gpu002", "gpu003"});
  nodes[2].guids = {"0xb8cef60300000103"};
  const auto topology = topology_from_iblinkinfo(kLinks, nodes);
  EXPECT_EQ(place_of(topology, "gpu001"), "leaf1");
  EXPECT_EQ(place_of(topology, "gpu002"), "leaf1");
  EXPECT_EQ(place_of(topology, "gpu003"), "leaf2");
  ASSERT_TRUE(topology);
  EXPECT_EQ(topology->uplinks.at("leaf1"), 1u);
}

TEST(TopologyLldp, TakesTheSwitchBehindTheFirstRdmaPort) {
  auto nodes = nodes_named({"gpu001", "gpu002"});
  nodes[0].netdevs = {"eth2", "eth3"};
  const auto topology = topology_from_lldp(
      "gpu001: lldp.eth0.chassis.name=management\ngpu001: lldp.eth3.chassis.name=leaf8\n"
      "gpu001: lldp.eth2.chassis.name=leaf7\ngpu001: lldp.eth2.port.descr=Ethernet1\n"
      "gpu002: lldp.eth0.chassis.name=leaf9\nnoise\n",
      nodes);
  EXPECT_EQ(place_of(topology, "gpu001"), "leaf7");
  EXPECT_EQ(place_of(topology, "gpu002"), "leaf9");
}

// Six nodes on three leaves, latencies with noise, and one slow pair, which is no level of the
// fabric.
TEST(TopologyLatency, IsInferredFromAClearGap) {
  Seeded random(11);
  const auto nodes = nodes_named({"a", "b", "c", "d", "e", "f"});
  std::string text = "node_a,node_b,latency_ns\n";
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = i + 1; j < 6; ++j) {
      double ns = (i / 2 == j / 2 ? 1500 : 2300) + static_cast<double>(random.below(60));
      if (i == 0 && j == 5) ns = 9000;
      text += fmt::format("{},{},{}\n", nodes[i].name, nodes[j].name, ns);
    }
  const auto topology = topology_from_latency(text, nodes);
  EXPECT_EQ(place_of(topology, "a"), "near_a");
  EXPECT_EQ(place_of(topology, "b"), "near_a");
  EXPECT_EQ(place_of(topology, "f"), "near_e");
}

TEST(TopologyLatency, WithoutAGapOrAgainstATreeIsRefused) {
  const auto nodes = nodes_named({"a", "b", "c", "d"});
  EXPECT_THAT(
      place_of(topology_from_latency("a,b,1000\nb,c,1010\nc,d,1020\na,d,1030\n", nodes), "a"),
      HasSubstr("show no leaves"));
  EXPECT_THAT(place_of(topology_from_latency("a,b,1000\nb,c,1000\na,c,2000\n", nodes), "a"),
              HasSubstr("show no leaves"));
  EXPECT_THAT(place_of(topology_from_latency("", nodes), "a"), HasSubstr("0 latencies"));
}

TEST(Topology, SaysWhenATextIsNotWhatItShouldBe) {
  const auto nodes = nodes_named({"gpu001"});
  for (const std::string& source : topology_words()) {
    const auto topology = read_topology({.source = source}, "nothing of the kind\n", nodes);
    ASSERT_FALSE(topology) << source;
    EXPECT_EQ(topology.error().code, Code::kInvalidArgument);
    EXPECT_THAT(topology.error().message, HasSubstr(source));
    EXPECT_THAT(topology.error().message, Not(HasSubstr("\n")));
  }
  EXPECT_TRUE(read_topology({}, "anything", nodes)->nodes.empty());
}

// Whatever is cut out, put in or turned round in a good text: no crash, and no place for a node
// that was not asked for.
TEST(Topology, SurvivesDamagedText) {
  const auto nodes = nodes_named({"gpu001", "gpu002", "a", "n0"});
  const std::vector<std::string> good{
      std::string(kDiscovered),
      std::string(kLinks),
      "gpu001: lldp.eth0.chassis.name=leaf1\n",
      "SwitchName=s0 Nodes=n[0-1] \\\nSwitchName=s1 Switches=s[0-9]\n",
      "gpu[001-002] leaf=l1\n",
      "a,gpu001,1000\na,gpu002,2000\n"};
  Seeded random(3);
  for (int trial = 0; trial < 4'000; ++trial) {
    std::string text = good[random.below(good.size())];
    for (std::size_t change = 0; change < 1 + random.below(6); ++change) {
      const std::size_t at = random.below(text.size() + 1);
      const std::size_t kind = random.below(4);
      if (kind == 0) text.erase(at, random.below(20));
      if (kind == 1) text.insert(at, 1, static_cast<char>(random.below(256)));
      if (kind == 2) text.insert(at, text.substr(random.below(text.size() + 1), random.below(40)));
      if (kind == 3) text.resize(at);
    }
    for (const std::string& source : topology_words()) {
      const auto topology = read_topology({.source = source}, text, nodes);
      if (!topology) continue;
      for (const auto& [name, place] : topology->nodes)
        EXPECT_TRUE(std::ranges::find(nodes, name, &TopologyNode::name) != nodes.end()) << name;
    }
  }
}

}  // namespace
}  // namespace railgauge::plan
