// The scenario language: what it declares, and the line that refuses an impossible scenario.
#include "agent/fleet/scenario/scenario.h"

#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string with(const std::string& lines, const std::string& sizes = "nodes: 8, leaves: 2") {
  return fmt::format("version: 1\nmetadata: {{name: t}}\nfabric: {{{}}}\n{}", sizes, lines);
}

Scenario scenario(const std::string& lines, const std::string& sizes = "nodes: 8, leaves: 2") {
  auto read = read_scenario(with(lines, sizes), "t.yaml");
  EXPECT_TRUE(read) << read.error().message;
  return read ? *read : Scenario{};
}

std::string refusal(const std::string& lines, const std::string& sizes = "nodes: 8, leaves: 2") {
  const auto read = read_scenario(with(lines, sizes), "t.yaml");
  EXPECT_FALSE(read) << lines;
  return read ? "" : read.error().message;
}

TEST(Scenario, LeavesAndPodsShareNodesOutEvenly) {
  const Scenario read = scenario("", "nodes: 10, leaves: 4, pods: 2");
  std::vector<int> under(4, 0);
  for (std::uint32_t node = 0; node < 10; ++node) ++under[read.leaf_of(node)];
  EXPECT_THAT(under, testing::UnorderedElementsAre(3, 2, 3, 2));
  EXPECT_EQ(read.pod_of(0), 0U);
  EXPECT_EQ(read.pod_of(3), 1U);
}

TEST(Scenario, NamesHaveAsManyDigitsAsTheLargestNeeds) {
  const Fabric small{.nodes = 8};
  EXPECT_EQ(node_name(small, 0), "sim0001");
  const Fabric large{.nodes = 10'000, .prefix = "gpu-"};
  EXPECT_EQ(node_name(large, 9'999), "gpu-10000");
  for (const std::uint32_t node : {0U, 41U, 9'999U})
    EXPECT_EQ(node_of_name(large, node_name(large, node)), node);
  for (const char* name : {"gpu-1", "gpu-00000", "gpu-10001", "gpu-0001x", "sim0001", "gpu-"})
    EXPECT_FALSE(node_of_name(large, name)) << name;
}

TEST(Scenario, TimesAreDurationsDaysOrDates) {
  const Scenario read = scenario(
      "begin: 2026-03-01\nfaults:\n"
      "  - {kind: rail, rail: 1, begin: 90min, end: 3d, takes: 0.1}\n"
      "  - {kind: rail, rail: 1, begin: 2026-03-03T12:00, takes: 0.1}\n");
  EXPECT_EQ(read.faults[0].when.begin_ns, 5'400'000'000'000);
  EXPECT_EQ(read.faults[0].when.end_ns, 259'200'000'000'000);
  EXPECT_EQ(read.faults[1].when.begin_ns, 216'000'000'000'000);
  EXPECT_FALSE(read.faults[0].when.covers(read.faults[0].when.end_ns));
}

TEST(Scenario, AClassWithoutNodesIsThatOfTheRest) {
  const Scenario read = scenario(
      "classes:\n  - {name: rest, gpus: 0, nics: 2, nic_rate: 100Gb/s}\n"
      "  - {name: big, nodes: 'sim[0003-0004]', nic_rate: 400Gb/s}\n");
  EXPECT_EQ(read.hardware(0).name, "rest");
  EXPECT_EQ(read.hardware(2).name, "big");
  EXPECT_EQ(read.hardware(0).nic_rate, 12.5e9);
  EXPECT_EQ(read.hardware(2).nics, 8U);
}

TEST(Scenario, WithoutClassesANodeHasANicOnEachRail) {
  for (const unsigned rails : {2U, 16U}) {
    const auto read = read_scenario(
        fmt::format(
            "version: 1\nmetadata: {{name: t}}\nfabric: {{nodes: 4, leaves: 2, rails: {}}}\n",
            rails),
        "t.yaml");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->hardware(0).nics, rails);
  }
}

// One line each: the key, the place, and what is allowed there.
TEST(Scenario, AnImpossibleOneIsRefusedWithPlaceKeyAndWhatIsAllowed) {
  struct Case {
    const char* lines;
    const char* sizes;
    const char* place;
    const char* text;
  };
  constexpr const char* kSizes = "nodes: 8, leaves: 2";
  const Case cases[] = {
      {"", "nodes: 10000000", "t.yaml:3:17: fabric.nodes: ", "from 1 to 10000"},
      {"", "nodes: 4, leaves: 5",
       "t.yaml:3:28: fabric.leaves: ", "a leaf without nodes; allowed: 1 to 4"},
      {"", "nodes: 4, leaves: 2, pods: 3",
       "fabric.pods: ", "a pod without leaves; allowed: 1 to 2"},
      {"faults:\n  - {kind: port, node: sim0009, nic: 0, takes: 0.1}\n", kSizes,
       "t.yaml:5:24: faults[0].node: ", "allowed: sim0001 to sim0008"},
      {"faults:\n  - {kind: port, node: sim0008, nic: 8, takes: 0.1}\n", kSizes,
       "t.yaml:5:38: faults[0].nic: ", "allowed: 0 to 7, since class h100 has 8 NICs"},
      {"faults:\n  - {kind: port, node: sim0008, takes: 0.1}\n", kSizes,
       "t.yaml:5:5: faults[0]: ", "lacks the key nic, which kind: port requires"},
      {"faults:\n  - {kind: rail, rail: 1, leaf: 1, takes: 0.1}\n", kSizes,
       "faults[0].leaf: ", "not with kind: rail; allowed with leaf, trunk or uplink"},
      {"faults:\n  - {kind: rail, rail: 1}\n", kSizes, "faults[0]: ", "one or more of takes"},
      {"faults:\n  - {kind: rail, rail: 1, stall: 1ms}\n", kSizes,
       "faults[0]: ", "belong together"},
      {"faults:\n  - {kind: trunk, leaf: 1, to_leaf: 1, takes: 0.1}\n", kSizes,
       "faults[0].to_leaf: ", "allowed: another one"},
      {"faults:\n  - {kind: leaf, leaf: 2, takes: 0.1}\n", kSizes,
       "faults[0].leaf: ", "allowed: 0 to 1"},
      {"faults:\n  - {kind: rail, rail: 1, takes: 1.1}\n", kSizes,
       "faults[0].takes: ", "from 0.0001 to 1"},
      {"faults:\n  - {kind: rail, rail: 1, takes: 0.1, begin: 2d, end: 1d}\n", kSizes,
       "faults[0].end: ", "allowed: a later time"},
      {"faults:\n  - {kind: rail, rail: 1, takes: 0.1, begin: 1999-01-01}\n", kSizes,
       "faults[0].begin: ", "at most 3660d after 2026-01-05"},
      {"faults:\n  - {kind: spine, spine: 0, takes: 0.1}\n", "nodes: 4, leaves: 1",
       "faults[0]: ", "no task crosses a spine"},
      {"classes:\n  - {name: a, nics: 9}\n", kSizes,
       "classes[0].nics: ", "since fabric.rails is 8"},
      {"classes:\n  - {name: a, nodes: sim0001}\n", kSizes, "classes: ", "sim0002 is in none"},
      {"classes:\n  - {name: a}\n  - {name: b}\n", kSizes,
       "classes: ", "two classes without nodes"},
      {"classes:\n  - {name: cpu, gpus: 0}\nfaults:\n  - {kind: gpu, node: sim0001, gpu: 0, takes: "
       "0.1}\n",
       kSizes, "faults[0].gpu: ", "class cpu has 0 GPUs, so none is allowed"},
      {"noise:\n  - {kind: modes, size: 0.1}\n", kSizes, "noise[0]: ", "lacks the key share"},
      {"noise:\n  - {kind: skew, size: -0.1}\n", kSizes, "noise[0].size: ", "kind: drift alone"},
      {"changes:\n  - {begin: 1d}\n", kSizes, "changes[0]: ", "changes nothing"},
      {"changes:\n  - {versions: {gpu_drivr: '1'}}\n", kSizes,
       "changes[0].versions.gpu_drivr: ", "did you mean \"gpu_driver\""},
      {"agents:\n  - {kind: late, nodes: sim0001}\n", kSizes, "agents[0]: ", "lacks the key by"},
      {"jobs:\n  - {every: 1d, length: 2d}\n", kSizes, "jobs[0]: ", "allowed: at most every"},
      {"jobs:\n  - {nodes: 'sim[0007-0009]'}\n", kSizes, "jobs[0].nodes: ", "sim0009"},
      {"losses:\n  - {kernels: [nccl]}\n", kSizes, "losses[0]: ", "lacks the key reason"},
      {"classes:\n  - {name: s, nics: 2}\nfaults:\n  - {kind: rail, rail: 7, takes: 0.1}\n", kSizes,
       "t.yaml:7:24: faults[0].rail: ",
       "is 7; allowed: 0 to 1, since the nodes at both ends of it have 2 NICs"},
      {"classes:\n  - {name: s, nodes: sim0001, nics: 2}\n  - {name: r}\nfaults:\n"
       "  - {kind: pair, node: sim0001, to_node: sim0002, rail: 6, takes: 0.1}\n",
       kSizes, "faults[0].rail: ", "is 6; allowed: 0 to 1"},
      {"classes:\n  - {name: s, nodes: 'sim[0001-0004]', nics: 2}\n  - {name: r}\nfaults:\n"
       "  - {kind: trunk, leaf: 0, to_leaf: 1, rail: 2, takes: 0.1}\n",
       kSizes, "faults[0].rail: ", "is 2; allowed: 0 to 1"},
      {"faults:\n  - {kind: rail, rail: 0, takes: 0.1}\n", "nodes: 1",
       "faults[0]: ", "no task crosses it, since fabric has 1 node; allowed: port, node or gpu"},
      {"faults:\n  - {kind: leaf, leaf: 0, takes: 0.1}\n", "nodes: 1",
       "faults[0]: ", "no task crosses it, since fabric has 1 node"},
      {"faults:\n  - {kind: pair, node: sim0001, to_node: sim0001, takes: 0.1}\n", "nodes: 1",
       "faults[0].to_node: ", "is the node itself"},
      {"faults:\n  - {kind: rail, rail: 1, takes: 0}\n", kSizes,
       "faults[0].takes: ", "from 0.0001 to 1"},
      {"faults:\n  - {kind: rail, rail: 1, adds: 0}\n", kSizes,
       "faults[0].adds: ", "is 0, which does nothing; allowed: more"},
      {"faults:\n  - {kind: rail, rail: 1, takes: 0.1, spell: 1h}\n", kSizes,
       "faults[0].spell: ", "nothing flaps without hits below 1; allowed with hits"},
      {"faults:\n  - {kind: rail, rail: 1, takes: 0.1, hits: 0.5, spell: 1s}\n", kSizes,
       "faults[0].spell: ", "is below 10s; allowed: 10s or longer"},
      {"losses:\n  - {kernels: [ncll], reason: x}\n", kSizes, "losses[0].kernels[0]: ",
       "\"ncll\" is no kernel; allowed: those of railgauge-runner --list"},
      {"changes:\n  - {versions: {nccl: '9'}, effect: {kernels: [ncll], takes: 0.5}}\n", kSizes,
       "changes[0].effect.kernels[0]: ", "did you mean \"nccl\""},
      {"classes:\n  - {name: c, gpus: 0}\nchanges:\n"
       "  - {versions: {bios: '1'}, effect: {memory: gpu, takes: 0.1}}\n",
       kSizes, "changes[0].effect.memory: ", "none of these nodes has a GPU; allowed: any or host"},
      {"classes:\n  - {name: c, nodes: sim0001, gpus: 0}\n  - {name: r}\nlosses:\n"
       "  - {nodes: sim0001, memory: gpu, reason: x}\n",
       kSizes, "losses[0].memory: ", "none of these nodes has a GPU"},
      {"day: {from: 7h, to: 7h, noise: 9}\n", kSizes,
       "day.to: ", "is the time of from, so that no hour is of the day; allowed: another time"},
      {"begin: 9999-12-31\n", kSizes, "t.yaml:4:8: begin: ", "a date from 1970 to 2099"},
      {"weather: rain\n", kSizes, "t.yaml:4:1: weather: ", "unknown key; allowed here: version"},
  };
  for (const Case& each : cases) {
    const std::string line = refusal(each.lines, each.sizes);
    EXPECT_THAT(line, AllOf(HasSubstr(each.place), HasSubstr(each.text)));
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(Scenario, AFaultThatSomeNodesCanMeetIsRead) {
  const Scenario read = scenario(
      "classes:\n  - {name: s, nodes: sim0001, nics: 2, gpus: 0}\n  - {name: r}\n"
      "day: {from: 0h, to: 24h}\n"
      "faults:\n  - {kind: rail, rail: 7, takes: 0.1}\n"
      "  - {kind: leaf, leaf: 0, rail: 7, takes: 0.1, hits: 0.5}\n"
      "  - {kind: port, node: sim0001, nic: 1, takes: 0.1, hits: 0.5, spell: 1h}\n"
      "losses:\n  - {memory: gpu, kernels: [nccl, verbs.write_bw], reason: x}\n");
  EXPECT_EQ(read.faults[1].spell_ns, kUsualSpellNs);
  EXPECT_EQ(read.faults[2].spell_ns, 3'600'000'000'000);
}

TEST(Scenario, ChangesAreInTheOrderOfTheirBegins) {
  const Scenario read = scenario(
      "changes:\n  - {name: second, begin: 2d, versions: {nccl: '2'}}\n"
      "  - {name: first, begin: 1d, versions: {nccl: '1'}}\n"
      "  - {name: third, begin: 2d, versions: {nccl: '3'}}\n");
  std::vector<std::string> names;
  for (const StackChange& change : read.changes) names.push_back(change.name);
  EXPECT_THAT(names, testing::ElementsAre("first", "second", "third"));
}

TEST(Scenario, TenThousandNodesAreRead) {
  const Scenario read =
      scenario("jobs:\n  - {nodes: 'sim[00001-10000]'}\n", "nodes: 10000, leaves: 625");
  EXPECT_EQ(read.leaf_of(9'999), 624U);
  EXPECT_TRUE(read.jobs[0].nodes.has(9'999));
}

TEST(Scenario, AKernelChoiceIsANameOrAFamily) {
  const KernelChoice choice{.names = {"nccl", "verbs.write_bw"}};
  for (const char* yes : {"nccl.all_reduce", "nccl", "verbs.write_bw"})
    EXPECT_TRUE(choice.has(yes)) << yes;
  for (const char* no : {"ncclx.all", "verbs.write_bw2", "verbs.read_bw", "mpi.lat"})
    EXPECT_FALSE(choice.has(no)) << no;
  EXPECT_TRUE(KernelChoice{}.has("mpi.lat"));
}

}  // namespace
}  // namespace railgauge::fleet
