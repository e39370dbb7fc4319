// Stack, agent, jobs and links of a scenario's nodes at a time. Synthetic.
#include "agent/fleet/model/node_state.h"

#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace railgauge::fleet {
namespace {

constexpr Nanoseconds kMinuteNs = 60'000'000'000;
constexpr Nanoseconds kDayOfNs = 1'440 * kMinuteNs;

Scenario with(const std::string& lines) {
  auto read = read_scenario(
      "version: 1\nmetadata: {name: t}\nfabric: {nodes: 100, leaves: 4}\n" + lines, "t.yaml");
  EXPECT_TRUE(read) << read.error().message;
  return read ? *read : Scenario{};
}

TEST(NodeState, AStackIsTheUsualOneThenTheClasssThenTheChanges) {
  const Scenario scenario = with(
      "classes:\n  - {name: a, versions: {nccl: '2.20'}, settings: {acs: true}}\n"
      "changes:\n  - {nodes: sim0001, begin: 1d, end: 3d, versions: {nccl: '2.22', ofed: new}}\n"
      "  - {begin: 2d, versions: {nccl: '2.23'}, settings: {mtu_bytes: 1024}}\n");
  const StackParts before = stack_at(scenario, 0, 0);
  EXPECT_EQ(before.versions.at("nccl"), "2.20");
  EXPECT_EQ(before.versions.at("gpu_driver"), "550.54.15");
  EXPECT_EQ(before.settings.at("acs"), "1");
  EXPECT_EQ(before.settings.at("mtu_bytes"), "4092");
  EXPECT_EQ(stack_at(scenario, 0, kDayOfNs).versions.at("ofed"), "new");
  EXPECT_EQ(stack_at(scenario, 1, kDayOfNs).versions.at("nccl"), "2.20");
  EXPECT_EQ(stack_at(scenario, 0, 2 * kDayOfNs).versions.at("nccl"), "2.23");
  EXPECT_EQ(stack_at(scenario, 0, 2 * kDayOfNs).settings.at("mtu_bytes"), "1024");
  EXPECT_EQ(stack_at(scenario, 0, 3 * kDayOfNs).versions.at("ofed"), before.versions.at("ofed"));
}

TEST(NodeState, OfTwoChangesTheLaterBeginHoldsWhicheverTheFileHasFirst) {
  const Scenario scenario = with(
      "changes:\n  - {begin: 3d, versions: {nccl: '2.23'}}\n"
      "  - {begin: 1d, end: 9d, versions: {nccl: '2.22'}}\n");
  EXPECT_EQ(stack_at(scenario, 0, 2 * kDayOfNs).versions.at("nccl"), "2.22");
  EXPECT_EQ(stack_at(scenario, 0, 4 * kDayOfNs).versions.at("nccl"), "2.23");
}

TEST(NodeState, AgentsAreLostLateWedgedLyingOrSkewedForTheirTime) {
  const Scenario scenario = with(
      "agents:\n  - {kind: lost, nodes: sim0001, begin: 1d, end: 2d}\n"
      "  - {kind: late, nodes: sim0002, by: 3s}\n"
      "  - {kind: wedged, nodes: sim0003}\n"
      "  - {kind: lying, nodes: sim0004, factor: 2}\n"
      "  - {kind: clock_skewed, nodes: sim0005, by: 90s, behind: true}\n");
  EXPECT_TRUE(agent_at(scenario, 0, 0).is_there);
  EXPECT_FALSE(agent_at(scenario, 0, kDayOfNs).is_there);
  EXPECT_EQ(agent_at(scenario, 0, kDayOfNs).back_at_ns, 2 * kDayOfNs);
  EXPECT_TRUE(agent_at(scenario, 0, 2 * kDayOfNs).is_there);
  EXPECT_EQ(agent_at(scenario, 1, 0).late_ns, 3'000'000'000);
  EXPECT_TRUE(agent_at(scenario, 2, 0).is_wedged);
  EXPECT_EQ(agent_at(scenario, 3, 0).flatters, 2);
  EXPECT_EQ(agent_at(scenario, 4, 0).clock_ahead_ns, -90'000'000'000);
  EXPECT_EQ(agent_at(scenario, 5, 0).clock_ahead_ns, 0);
}

TEST(NodeState, ARebootIsAnAbsenceAndAStartAfterIt) {
  const Scenario scenario = with(
      "agents:\n  - {kind: rebooting, nodes: sim0001, begin: 1d, end: 4d, by: 5min, every: 1d}\n"
      "changes:\n  - {nodes: sim0002, begin: 1d, versions: {bios: '2'}, reboot: 10min}\n");
  const auto at = [&](std::uint32_t node, Nanoseconds time) {
    return agent_at(scenario, node, time);
  };
  EXPECT_EQ(at(0, kDayOfNs - 1).starts, 0U);
  EXPECT_FALSE(at(0, kDayOfNs).is_there);
  EXPECT_EQ(at(0, kDayOfNs).back_at_ns, kDayOfNs + 5 * kMinuteNs);
  EXPECT_TRUE(at(0, kDayOfNs + 5 * kMinuteNs).is_there);
  EXPECT_EQ(at(0, kDayOfNs + 5 * kMinuteNs).starts, 1U);
  EXPECT_FALSE(at(0, 3 * kDayOfNs + kMinuteNs).is_there);
  EXPECT_EQ(at(0, 9 * kDayOfNs).starts, 3U);
  EXPECT_TRUE(at(0, 9 * kDayOfNs).is_there);
  EXPECT_FALSE(at(1, kDayOfNs + 9 * kMinuteNs).is_there);
  EXPECT_EQ(at(1, 2 * kDayOfNs).starts, 1U);
}

TEST(NodeState, JobsComeAndGoAndTakeTheirShareOfNodes) {
  const Scenario scenario =
      with("jobs:\n  - {name: train, begin: 1d, every: 1d, length: 6h, share: 0.4}\n");
  const auto busy = [&](Nanoseconds time) {
    std::set<std::uint32_t> out;
    for (std::uint32_t node = 0; node < 100; ++node)
      if (const auto job = job_at(scenario, node, time)) {
        EXPECT_EQ(*job, "train");
        out.insert(node);
      }
    return out;
  };
  EXPECT_TRUE(busy(0).empty());
  const auto first = busy(kDayOfNs);
  EXPECT_NEAR(static_cast<double>(first.size()), 40, 15);
  EXPECT_EQ(busy(kDayOfNs + 359 * kMinuteNs), first);
  EXPECT_TRUE(busy(kDayOfNs + 360 * kMinuteNs).empty());
  EXPECT_NE(busy(2 * kDayOfNs), first);
}

TEST(NodeState, ALinkIsDownForTheTimeOfItsFault) {
  const Scenario scenario = with(
      "faults:\n  - {kind: port, node: sim0001, nic: 2, begin: 1d, takes: 1}\n"
      "  - {kind: port, node: sim0002, nic: 2, takes: 0.9}\n");
  EXPECT_FALSE(is_link_down(scenario, 0, 2, 0));
  EXPECT_TRUE(is_link_down(scenario, 0, 2, kDayOfNs));
  EXPECT_FALSE(is_link_down(scenario, 0, 1, kDayOfNs));
  EXPECT_FALSE(is_link_down(scenario, 1, 2, kDayOfNs));
}

// Whoever looks within a spell sees the same, however often.
TEST(NodeState, AFlappingLinkIsUpOrDownForAWholeSpell) {
  for (const auto& [lines, spell] : {std::pair{"hits: 0.3", 10 * kMinuteNs},
                                     std::pair{"hits: 0.3, spell: 1h", 60 * kMinuteNs}}) {
    const Scenario scenario = with(
        fmt::format("faults:\n  - {{kind: port, node: sim0001, nic: 2, takes: 1, {}}}\n", lines));
    constexpr int kSpells = 400;
    int down = 0;
    for (int i = 0; i < kSpells; ++i) {
      const bool at_first = is_link_down(scenario, 0, 2, i * spell);
      for (const Nanoseconds later : {Nanoseconds{1}, spell / 3, spell / 2, spell - 1})
        EXPECT_EQ(is_link_down(scenario, 0, 2, i * spell + later), at_first) << lines << " " << i;
      down += at_first ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(down) / kSpells, 0.3, 0.08) << lines;
  }
}

}  // namespace
}  // namespace railgauge::fleet
