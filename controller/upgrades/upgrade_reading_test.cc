// The two sides of an upgrade over a real store with synthetic points.
#include "controller/upgrades/upgrade_reading.h"

#include <algorithm>
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/upgrade_bench.h"

namespace railgauge::testing_upgrade {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST_F(UpgradeJudge, ATailThatIsNotThereAnyMoreIsNamedAsOneThatNeverWasIs) {
  tails_ = {"p99"};
  measure("tails", 0);
  store::UpgradeRow row = *store_->read(store::read_upgrade, "u1");
  row.upgrade_id = "u3";
  row.runs = {{.run_id = "tails"}};
  ASSERT_TRUE(store_->write(store::write_upgrade, row));
  const auto judged_by = [&](const std::string& run) {
    EXPECT_TRUE(store_->write(store::write_upgrade_after, "u3", run, true));
    return judge_and_keep(*store_, "u3", 2e9).value_or(api::Upgrade());
  };
  measure("tails-after", 0);
  const api::Upgrade both = judged_by("tails-after");
  EXPECT_EQ(both.metrics_size(), 2) << golden_text(both);
  EXPECT_THAT(both.notes(), testing::Contains(HasSubstr(
                                "no launch has enough samples for it: verbs.write_lat "
                                "latency_ns p90 8 B; verbs.write_lat latency_ns p99.9 8 B")));
  tails_.clear();
  measure("no-tails", 0);
  const api::Upgrade lost = judged_by("no-tails");
  EXPECT_EQ(lost.verdict(), "pass") << golden_text(lost);
  for (const api::JudgedMetric& metric : lost.metrics())
    EXPECT_EQ(metric.missing_size(), 0) << metric.name();
  EXPECT_THAT(lost.notes(),
              testing::Contains(HasSubstr("p99 8 B: not judged on 5 of 5 pairs: the after side has "
                                          "too few samples for it")));
}

TEST_F(UpgradeJudge, ATenthOfAllOperationsThatGotSlowerIsALossThoughTheMedianStayed) {
  tails_ = {"p90"};
  measure("tenth", 0);
  store::UpgradeRow row = *store_->read(store::read_upgrade, "u1");
  row.upgrade_id = "u4";
  row.runs = {{.run_id = "tenth"}};
  ASSERT_TRUE(store_->write(store::write_upgrade, row));
  tail_loss_ = 0.3;
  measure("tenth-after", 0);
  ASSERT_TRUE(store_->write(store::write_upgrade_after, "u4", "tenth-after", true));
  const api::Upgrade upgrade = judge_and_keep(*store_, "u4", 2e9).value_or(api::Upgrade());
  EXPECT_EQ(upgrade.verdict(), "regressed") << golden_text(upgrade);
  EXPECT_THAT(upgrade.reason(), HasSubstr("latency_ns p90 8 B"));
}

TEST_F(UpgradeJudge, HardwareThatWasReplacedOnAChangedNodeIsASuspect) {
  NodeRow node = store::node_row(2);
  node.facts = {{"linux_kernel", "6.5.0"}, {"nic_firmware", "2"}};
  for (const char* guid : {"one", "another"}) {
    node.endpoints[0].guid = guid;
    ASSERT_TRUE(store_->put_node(node));
  }
  ASSERT_TRUE(store_->flush());
  measure("after", 0.05);
  const api::Upgrade upgrade = judge("after");
  EXPECT_EQ(upgrade.verdict(), "regressed") << golden_text(upgrade);
  bool named = false;
  for (const api::UpgradeCause& cause : upgrade.causes())
    named = named || std::ranges::count(cause.changes(), kHardwareReplaced) > 0;
  EXPECT_TRUE(named) << golden_text(upgrade);
}

TEST_F(UpgradeJudge, ReplacedHardwareIsSeenWhereTheStackStayed) {
  NodeRow node = store::node_row(6);
  node.facts = {{"linux_kernel", "6.1.0"}, {"nic_firmware", "1"}};
  node.endpoints[0].guid = "one";
  ASSERT_TRUE(store_->put_node(node));
  node.endpoints[0].guid = "another";
  ASSERT_TRUE(store_->put_node(node));
  ASSERT_TRUE(store_->flush());
  measure("after", 0);
  const api::Upgrade upgrade = judge("after");
  EXPECT_THAT(upgrade.notes(), testing::Contains(HasSubstr("changed too: n6 (hardware replaced)")));
  for (const std::string& excluded : upgrade.excluded())
    EXPECT_THAT(excluded, testing::Not(HasSubstr("no NIC or GPU was replaced")));
}

TEST_F(UpgradeJudge, AStackThatChangesWhileASideIsMeasuredIsNoStatement) {
  measure("after", 0);
  put(6, "6.5.0", "2");
  put(6, "6.1.0", "1");  // a control, for a while only
  ASSERT_TRUE(
      store_->update_run({.run_id = "after", .state = store::RunState::kEnded, .ended_at = 2e9}));
  const api::Upgrade pass = judge("after");
  EXPECT_EQ(pass.verdict(), "pass") << golden_text(pass);
  EXPECT_THAT(pass.notes(), testing::Contains(HasSubstr("changed too: n6 (")));
  EXPECT_THAT(pass.notes(), testing::Contains(HasSubstr("linux_kernel 6.5.0 -> 6.1.0")));
  put(2, "6.6.0", "2");
  const api::Upgrade upgrade = judge("after");
  EXPECT_EQ(upgrade.verdict(), "invalid") << golden_text(upgrade);
  EXPECT_THAT(upgrade.reason(), HasSubstr("n2 was measured with two stacks"));
  EXPECT_THAT(upgrade.reason(), HasSubstr("linux_kernel 6.5.0 -> 6.6.0"));
}

TEST_F(UpgradeJudge, ACheckThatPassedAndFailsNowIsLostFunction) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double since = store_->read(store::read_epochs, "id-1", 1)->at(0).valid_from;
  ASSERT_TRUE(store_->write(
      store::write_preflight,
      {.node_id = "id-1", .at = since - 10, .checks = {{.check_id = "acs", .state = "pass"}}}));
  measure("after", 0);
  ASSERT_TRUE(store_->write(
      store::write_preflight,
      {.node_id = "id-1", .at = now + 10, .checks = {{.check_id = "acs", .state = "fail"}}}));
  const api::Upgrade upgrade = judge("after");
  EXPECT_EQ(upgrade.kind(), "lost_function") << golden_text(upgrade);
  ASSERT_THAT(upgrade.lost(), SizeIs(1));
  EXPECT_EQ(upgrade.lost(0).name(), "check acs");
}

TEST_F(UpgradeJudge, ASuiteStatesItsOwnBoundsAndAPassMayRestOnLess) {
  suite_text_ =
      "version: 1\nmetadata: {name: upgrade}\nbounds: {median: 0.1}\nstages:\n  - "
      "kernel: verbs.write_lat\n    placement: {pairs: ring}\n";
  measure("after", 0.05);
  EXPECT_EQ(judge("after").verdict(), "pass");
  EXPECT_DOUBLE_EQ(judge("after").metrics(0).bound_percent(), 10);
}

TEST_F(UpgradeJudge, AControlThatChangedIsLeftOutByName) {
  put(6, "6.5.0", "1");
  measure("after", 0);
  const api::Upgrade upgrade = judge("after");
  EXPECT_EQ(upgrade.metrics(0).control_nodes(), 1U) << golden_text(upgrade);
  EXPECT_THAT(upgrade.notes(), testing::Contains(HasSubstr("changed too: n6")));
}

// The place is the same, and so are its series and what its tasks did.
TEST_F(UpgradeJudge, AnUpgradeThatRenamesDevicesLosesNoFunction) {
  changed_device_ = "roce0";
  for (int node = 1; node <= kNodes / 2; ++node) put(node, "6.5.0", "2");
  measure("after", 0);
  const api::Upgrade upgrade = judge("after");
  EXPECT_EQ(upgrade.verdict(), "pass") << golden_text(upgrade) << upgrade.reason();
}

}  // namespace
}  // namespace railgauge::testing_upgrade
