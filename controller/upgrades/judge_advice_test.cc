// Causes and next steps of a verdict.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/upgrades/judge_report.h"
#include "controller/upgrades/upgrade_stack.h"

namespace railgauge {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// n1 and n2 got another kernel, which cost n1 the second of its two ports.
class AfterAnUpgrade : public testing::Test {
 protected:
  AfterAnUpgrade() {
    for (const char* node : {"n1", "n2", "c1", "c2"}) {
      sides_.upgrade.nodes.push_back({.node_id = node, .node = node, .changed = node[0] == 'n'});
      sides_.stacks[node].known = true;
    }
    for (const char* node : {"n1", "n2"})
      sides_.stacks[node].changes = {{"linux_kernel", "6.1", "6.5"}};
    sides_.stacks["n1"].changes.push_back({"nic.mlx5_1:1/default_roce_tos", "106", "none"});
    sides_.stacks["n1"].changes.push_back(
        {"nic_mtu_bytes", "1500: 0000:18:00.0; 4092: 0000:3b:00.0", "1500"});
    verdict_.verdict = analysis::Verdict::kRegressed;
    verdict_.kind = "lost_function";
    verdict_.lost = {{.sides = {.node = "n1",
                                .endpoint = "mlx5_1:1",
                                .name = "endpoint",
                                .outcome_before = "passed",
                                .outcome_after = "gone"},
                      .what = "passed before, now gone"}};
  }
  api::Upgrade told() {
    api::Upgrade out;
    add_causes(sides_, verdict_, out);
    add_excluded(sides_, verdict_, out);
    add_next(sides_, verdict_, out);
    return out;
  }
  UpgradeData sides_;
  analysis::UpgradeVerdict verdict_;
};

TEST_F(AfterAnUpgrade, AGoneDeviceIsTheCauseAndItsSettingsAreNot) {
  const api::Upgrade upgrade = told();
  ASSERT_EQ(upgrade.causes_size(), 2) << upgrade.DebugString();
  EXPECT_THAT(upgrade.causes(0).changes(), ElementsAre("rdma_device present -> gone"));
  EXPECT_TRUE(upgrade.causes(0).explains());
  EXPECT_THAT(upgrade.causes(1).changes(), ElementsAre("linux_kernel 6.1 -> 6.5"));
  EXPECT_THAT(upgrade.next(),
              Contains(HasSubstr("n1/mlx5_1:1 is gone: see railgauge preflight n1")));
  EXPECT_THAT(upgrade.next(), Contains(HasSubstr("undo linux_kernel on one of the nodes")));
  EXPECT_THAT(upgrade.next(), Not(Contains(HasSubstr("undo rdma_device"))));
  EXPECT_THAT(upgrade.excluded(), Not(Contains(HasSubstr("hardware"))));
}

TEST_F(AfterAnUpgrade, WhatNoTaskUsedIsNamedAndWhatIsGoneIsNot) {
  sides_.tasks_after = {
      {.nodes = {"n1", "n2"}, .endpoints = {"mlx5_0:1+gpu0", "mlx5_0:1"}, .outcome = "passed"}};
  sides_.endpoints = {{.node = "n1", .endpoint = "gpu0", .state = "active"},
                      {.node = "n1", .endpoint = "mlx5_0:1", .state = "active"},
                      {.node = "n1", .endpoint = "mlx5_1:1", .state = "active", .gone = true},
                      {.node = "n2", .endpoint = "mlx5_0:1", .state = "active"}};
  const auto notes = [&] {
    api::Upgrade out;
    add_notes(sides_, out);
    return out.notes();
  };
  EXPECT_THAT(notes(), Not(Contains(HasSubstr("no task used"))));
  sides_.endpoints.push_back({.node = "n2", .endpoint = "mlx5_1:1", .state = "active"});
  EXPECT_THAT(notes(), Contains("no task used, so that nothing is said of: n2/mlx5_1:1"));
}

TEST_F(AfterAnUpgrade, ASettingOfAPortThatIsThereStaysASuspect) {
  sides_.stacks["n1"].changes.push_back({"nic_max_read_request_bytes", "4096", "512"});
  const api::Upgrade upgrade = told();
  EXPECT_THAT(upgrade.causes(0).changes(),
              ElementsAre("nic_max_read_request_bytes 4096 -> 512", "rdma_device present -> gone"));
  verdict_.lost[0].sides.outcome_after = "error";
  EXPECT_THAT(told().causes(0).changes(), Contains(HasSubstr("nic_mtu_bytes")))
      << "a port that is there but down";
}

// Under policy propose nobody measures again by himself.
TEST_F(AfterAnUpgrade, AnInconclusiveVerdictNamesTheCommandThatGoesOnWithIt) {
  sides_.upgrade.upgrade_id = "u1";
  verdict_ = {};
  verdict_.verdict = analysis::Verdict::kInconclusive;
  analysis::MetricVerdict& open = verdict_.metrics.emplace_back();
  open.verdict = analysis::Verdict::kInconclusive;
  open.need.runs = 3;
  EXPECT_THAT(told().next(), Contains(HasSubstr("railgauge upgrades extend u1")));
  EXPECT_THAT(told().next(), Not(Contains(HasSubstr("--min-coverage"))));
  sides_.min_coverage = 0.95;
  EXPECT_THAT(told().next(), Contains(HasSubstr("upgrades extend u1 --min-coverage 0.95")));
  open.need = {};
  open.need.nodes = 3;
  EXPECT_THAT(told().next(), Not(Contains(HasSubstr("upgrades extend"))))
      << "runs would not settle it";
}

// Only one of the two lost its device, and both are upgraded alike.
TEST(UpgradeStack, ANodeThatLostItsDeviceGotTheSameUpgradeAsTheOthers) {
  const store::StackParts before{.versions = {{"linux_kernel", "6.1"}, {"nic_firmware.x", "1"}},
                                 .settings = {{"nic_mtu_bytes", "4092"}}};
  store::StackParts well = before;
  well.versions["linux_kernel"] = "6.5";
  const store::StackParts without{.versions = {{"linux_kernel", "6.5"}}, .settings = {}};
  EXPECT_EQ(moved_to(before, without), moved_to(before, well));
  EXPECT_THAT(moved_to(before, {.versions = {{"linux_kernel", "6.1"}}, .settings = {}}),
              ElementsAre("rdma_device -> gone"))
      << "alone it is what changed";
}

}  // namespace
}  // namespace railgauge
