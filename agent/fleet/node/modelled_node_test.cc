// Hello, stack and preflight of modelled nodes: the agents' own code reads the scenario out of
// them. Synthetic.
#include "agent/fleet/node/modelled_node.h"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/inventory/contract.h"
#include "agent/preflight/rules/check.h"

namespace railgauge::fleet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr Nanoseconds kHour = 3'600'000'000'000;

Scenario with(const std::string& lines, const std::string& sizes = "{nodes: 4, leaves: 2}") {
  auto read =
      read_scenario("version: 1\nmetadata: {name: t}\nfabric: " + sizes + "\n" + lines, "t.yaml");
  EXPECT_TRUE(read) << read.error().message;
  return read ? *read : Scenario{};
}

// States of a check by id, worst last; and the first text that was observed.
std::map<std::string, std::set<std::string>> states(const Scenario& scenario,
                                                    Nanoseconds time = kHour) {
  api::PreflightOrder order;
  order.set_probe(true);
  std::map<std::string, std::set<std::string>> out;
  const api::PreflightAnswer answer = preflight_at(scenario, 0, time, order);
  for (const auto& check : answer.report().checks()) out[check.id()].insert(check.state());
  return out;
}

TEST(ModelledNode, AHealthyOnePassesEveryCheckThatApplies) {
  for (const char* layer : {"infiniband", "ethernet"}) {
    const Scenario scenario =
        with(std::string("classes:\n  - {name: a, link_layer: ") + layer + "}\n");
    int passed = 0;
    for (const auto& [id, found] : states(scenario)) {
      for (const std::string& state : found)
        EXPECT_THAT(state, testing::AnyOf("pass", "waived")) << layer << " " << id;
      passed += found.contains("pass") ? 1 : 0;
    }
    EXPECT_GT(passed, static_cast<int>(agent::all_checks().size()) / 2) << layer;
  }
}

TEST(ModelledNode, ChecksSayThatTheyAreSynthetic) {
  api::PreflightOrder order;
  order.set_request_id("42");
  const api::PreflightAnswer answer = preflight_at(with(""), 1, 0, order);
  EXPECT_EQ(answer.request_id(), "42");
  ASSERT_GT(answer.report().checks_size(), 10);
  for (const auto& check : answer.report().checks()) {
    EXPECT_THAT(check.observed(), StartsWith("synthetic: ")) << check.id();
    EXPECT_EQ(check.node(), "sim0002");
  }
}

TEST(ModelledNode, BrokenSettingsFailTheirChecks) {
  const Scenario scenario = with(
      "changes:\n  - {begin: 2h, versions: {linux_kernel: '6.9'}, settings: {acs: true}}\n"
      "faults:\n  - {kind: port, node: sim0001, nic: 3, takes: 1, begin: 2h}\n");
  const auto before = states(scenario);
  const auto after = states(scenario, 3 * kHour);
  const auto is_bad = [](const std::set<std::string>& found) {
    return found.contains("fail") || found.contains("warn");
  };
  EXPECT_FALSE(is_bad(before.at("acs")));
  EXPECT_TRUE(is_bad(after.at("acs")));
  std::set<std::string> worse;
  for (const auto& [id, found] : after)
    if (is_bad(found) && !is_bad(before.at(id))) worse.insert(id);
  EXPECT_GE(worse.size(), 2U);
}

TEST(ModelledNode, ItsHelloIsWithinTheContractAndMarked) {
  const Scenario scenario = with("classes:\n  - {name: big, gpus: 16, nics: 16}\n",
                                 "{nodes: 10000, leaves: 625, rails: 16}");
  api::Hello hello = hello_at(scenario, 9'999, kHour);
  EXPECT_EQ(hello.name(), "sim10000");
  EXPECT_EQ(hello.nics_size(), 16);
  EXPECT_EQ(hello.gpus_size(), 16);
  EXPECT_EQ(hello.facts().at("synthetic"), "true");
  EXPECT_EQ(hello.facts().at("leaf"), "L624");
  EXPECT_EQ(hello.facts().at("pod"), "P0");
  EXPECT_EQ(hello.labels().at("leaf"), "L624");
  EXPECT_EQ(hello.labels().at("pod"), "P0");
  EXPECT_FALSE(hello.stack_incomplete());
  EXPECT_THAT(agent::fit_hello(hello), IsEmpty());
}

TEST(ModelledNode, ItsStackIsTheScenarios) {
  const Scenario scenario = with(
      "changes:\n  - {nodes: sim0001, begin: 2h, versions: {gpu_driver: '560.35.03',\n"
      "     nic_firmware: '28.43.1014'}, settings: {relaxed_ordering: false}}\n");
  const api::Hello before = hello_at(scenario, 0, kHour);
  const api::Hello after = hello_at(scenario, 0, 3 * kHour);
  EXPECT_EQ(after.stack_versions().at("gpu_driver"), "560.35.03");
  EXPECT_EQ(after.stack_versions().at("nic_firmware.MT4129"), "28.43.1014");
  EXPECT_EQ(after.stack_settings().at("nic_relaxed_ordering"), "off");
  std::set<std::string> changed;
  for (const auto& [key, value] : after.stack_versions())
    if (before.stack_versions().at(key) != value) changed.insert(key);
  for (const auto& [key, value] : after.stack_settings())
    if (before.stack_settings().at(key) != value) changed.insert(key);
  EXPECT_EQ(changed,
            (std::set<std::string>{"gpu_driver", "nic_firmware.MT4129", "nic_relaxed_ordering"}));
  EXPECT_EQ(hello_at(scenario, 1, 3 * kHour).stack_versions().at("gpu_driver"),
            before.stack_versions().at("gpu_driver"));
}

TEST(ModelledNode, AGpuIsNearestToTheNicOfItsPlace) {
  const api::Hello hello = hello_at(with(""), 0, 0);
  for (const api::Gpu& gpu : hello.gpus())
    for (const api::Nic& nic : hello.nics()) {
      const std::string& distance = gpu.distances().at(nic.device());
      const bool same_place = gpu.name().substr(3) == nic.device().substr(5);
      EXPECT_EQ(same_place, distance == "PIX" || distance == "PXB")
          << gpu.name() << " " << nic.device() << " " << distance;
      EXPECT_NE(distance, "unknown");
    }
}

TEST(ModelledNode, APortThatIsDownIsReportedSo) {
  const Scenario scenario =
      with("faults:\n  - {kind: port, node: sim0001, nic: 3, takes: 1, begin: 2h}\n");
  EXPECT_EQ(hello_at(scenario, 0, kHour).nics(3).state(), "active");
  EXPECT_EQ(hello_at(scenario, 0, 3 * kHour).nics(3).state(), "down");
  EXPECT_EQ(hello_at(scenario, 0, 3 * kHour).nics(2).state(), "active");
}

TEST(ModelledNode, ARebootChangesTheIncarnationAndNotTheId) {
  const Scenario scenario =
      with("agents:\n  - {kind: rebooting, nodes: sim0001, begin: 2h, by: 1min}\n");
  const api::Hello before = hello_at(scenario, 0, kHour);
  const api::Hello after = hello_at(scenario, 0, 3 * kHour);
  EXPECT_EQ(before.node_id(), after.node_id());
  EXPECT_NE(before.incarnation(), after.incarnation());
  EXPECT_NE(before.node_id(), hello_at(scenario, 1, kHour).node_id());
  EXPECT_EQ(before.node_id().size(), 32U);
}

TEST(ModelledNode, AJobIsABusyReasonAndASkewedClockIsWrong) {
  const Scenario scenario = with(
      "begin: 2026-01-05\njobs:\n  - {name: train, nodes: sim0001}\n"
      "agents:\n  - {kind: clock_skewed, nodes: sim0002, by: 90s}\n");
  const api::Hello busy = hello_at(scenario, 0, kHour);
  ASSERT_EQ(busy.busy().reasons_size(), 1);
  EXPECT_THAT(busy.busy().reasons(0).text(), AllOf(HasSubstr("train"), HasSubstr("synthetic")));
  const api::Hello skewed = hello_at(scenario, 1, kHour);
  EXPECT_EQ(skewed.busy().reasons_size(), 0);
  EXPECT_EQ(skewed.unix_time_seconds() - busy.unix_time_seconds(), 90);
}

TEST(ModelledNode, OneWithoutGpusHasNoneOfTheirDriver) {
  const api::Hello hello = hello_at(with("classes:\n  - {name: cpu, gpus: 0, nics: 1}\n"), 0, 0);
  EXPECT_EQ(hello.gpus_size(), 0);
  EXPECT_FALSE(hello.stack_versions().contains("gpu_driver"));
}

}  // namespace
}  // namespace railgauge::fleet
