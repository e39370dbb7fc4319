// Verdicts over a real store that is filled with synthetic points: what is said, to the digit.
#include "controller/upgrade_judge.h"

#include <chrono>
#include <set>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/analysis/testing/simulate.h"
#include "controller/findings_desk.h"
#include "controller/store/store_testing.h"
#include "controller/upgrade_desk.h"

namespace railgauge {
namespace {

using store::At;
using store::NodeRow;
using store::TaskRow;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int kNodes = 8;  // the first four are upgraded
constexpr int kRepetitions = 5;
constexpr double kLevelNs = 1'500;

class UpgradeJudge : public store::StoreTest {
 protected:
  void SetUp() override {
    for (int node = 1; node <= kNodes; ++node) put(node, "6.1.0", "1");
    measure("before", 0);
    store::UpgradeRow row{.upgrade_id = "u1", .suite = "upgrade", .runs = {{.run_id = "before"}}};
    for (int node = 1; node <= kNodes; ++node) {
      const std::string id = fmt::format("id-{}", node);
      row.nodes.push_back({.node_id = id,
                           .changed = node <= kNodes / 2,
                           .stack_before = store_->epochs(id, 1)->at(0).stack});
    }
    ASSERT_TRUE(store_->add_upgrade(row));
    for (int node = 1; node <= kNodes / 2; ++node) put(node, "6.5.0", "2");
  }
  void put(int number, const std::string& kernel, const std::string& firmware) {
    NodeRow node = store::node_row(number);
    node.facts = {{"linux_kernel", kernel}, {"nic_firmware", firmware}};
    ASSERT_TRUE(store_->put_node(node));
    ASSERT_TRUE(store_->flush());
  }
  static TaskRow task(int pair, int repetition) {
    const int other = pair % kNodes + 1;
    return {.task_id = fmt::format("t{}-{}", repetition, pair),
            .kernel = "verbs.write_lat",
            .parameters = {{"sizes", "8"}},
            .identity_parameters = {},
            .ranks = {{.node_id = fmt::format("id-{}", pair),
                       .node = fmt::format("n{}", pair),
                       .endpoint = "rxe0:1"},
                      {.node_id = fmt::format("id-{}", other),
                       .node = fmt::format("n{}", other),
                       .endpoint = "rxe0:1"}},
            .deadline_seconds = 30};
  }
  // A ring of all nodes, five launches each; pairs with an upgraded node are slower by `loss`.
  void measure(const std::string& run_id, double loss,
               const std::string& outcome_of_first = "passed", const std::string& reason = "") {
    std::vector<TaskRow> tasks;
    for (int repetition = 1; repetition <= kRepetitions; ++repetition)
      for (int pair = 1; pair <= kNodes; ++pair) tasks.push_back(task(pair, repetition));
    store::RunRow run = store::run_row(run_id);
    run.trigger = "upgrade";
    if (!suite_text_.empty()) run.suite_text = suite_text_;
    ASSERT_TRUE(store_->create_run(run, tasks));
    analysis::Chance chance(run_id == "before" ? 1 : 2);
    for (const TaskRow& one : tasks) {
      const int pair = one.task_id.back() - '0';
      const bool changed = pair <= kNodes / 2 || pair == kNodes;
      const double median = kLevelNs * (1 + 0.003 * chance.normal()) * (1 + (changed ? loss : 0));
      tenth_ = changed ? 1.2 * (1 + tail_loss_) : 1.2;
      const bool first = one.task_id == "t1-1";
      deliver(run_id, one, median, first ? outcome_of_first : "passed", first ? reason : "");
    }
    ASSERT_TRUE(store_->update_run({.run_id = run_id, .state = "ended", .outcome = "passed"}));
    ASSERT_TRUE(store_->flush());
  }
  void deliver(const std::string& run_id, const TaskRow& task, double median,
               const std::string& outcome, const std::string& reason) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const At at{.run_id = run_id, .task_id = task.task_id, .attempt = 1, .rank = rank};
      std::vector<Record> records{store::started_record(at)};
      if (rank == 0 && outcome == "passed") {
        Record point = store::point_record(at, 1, median);
        point.mutable_point()->set_synthetic(true);
        if (!tails_.contains("p99")) point.mutable_point()->clear_p99();
        if (tails_.contains("p90")) point.mutable_point()->set_p90(median * tenth_);
        records.push_back(std::move(point));
      }
      records.push_back(store::final_record(at, 2, outcome, reason));
      ASSERT_TRUE(store::append(*store_, task.ranks[rank].node_id, std::move(records)));
    }
  }
  api::Upgrade judge(const std::string& run_id) {
    EXPECT_TRUE(store_->add_upgrade_after("u1", run_id, true));
    const auto judged = judge_and_keep(*store_, "u1", 2e9);
    EXPECT_TRUE(judged) << judged.error().message;
    return judged.value_or(api::Upgrade());
  }
  std::set<std::string> tails_;  // that points have
  double tail_loss_ = 0;         // of the changed pairs' p90
  double tenth_ = 1.2;           // p90 over median
  std::string suite_text_;
  static std::string golden_text(const api::Upgrade& upgrade) {
    std::string text = fmt::format("{} {}\n", upgrade.verdict(), upgrade.kind());
    for (const api::JudgedMetric& metric : upgrade.metrics())
      text += fmt::format("{}: {} {:+.2f} ({:+.2f} to {:+.2f}) {}+{} nodes, {} places\n",
                          metric.name(), metric.verdict(), metric.worse_percent(),
                          metric.low_percent(), metric.high_percent(), metric.changed_nodes(),
                          metric.control_nodes(), metric.places_size());
    for (const api::UpgradeCause& cause : upgrade.causes())
      text += fmt::format("cause {}: {} of {}, without {} of {}, explains {}\n",
                          fmt::join(cause.changes(), "; "), cause.exposed_worse(), cause.exposed(),
                          cause.unexposed_worse(), cause.unexposed(), cause.explains());
    return text;
  }
};

TEST_F(UpgradeJudge, NothingLostIsAPassWithItsBound) {
  measure("after", 0);
  const api::Upgrade upgrade = judge("after");
  EXPECT_EQ(upgrade.verdict(), "pass") << golden_text(upgrade);
  EXPECT_LT(upgrade.metrics(0).high_percent(), 2);
  EXPECT_DOUBLE_EQ(upgrade.metrics(0).coverage(), 1);
  EXPECT_TRUE(upgrade.synthetic());
  EXPECT_THAT(upgrade.notes(), testing::Contains(HasSubstr("its checks are not compared: n1")));
  EXPECT_THAT(*store_->list_findings("", 10), IsEmpty());
  EXPECT_THAT(upgrade.excluded(), testing::Contains(HasSubstr("a cause common to all")));
}

// In no run at all: waived before as after, or never planned.
TEST_F(UpgradeJudge, AChangedNodeThatNeitherSideMeasuredForbidsAPass) {
  constexpr int kUnmeasured = kNodes + 1;
  put(kUnmeasured, "6.1.0", "1");
  store::UpgradeRow row = *store_->upgrade("u1");
  row.upgrade_id = "u2";
  const std::string id = fmt::format("id-{}", kUnmeasured);
  row.nodes.push_back(
      {.node_id = id, .changed = true, .stack_before = store_->epochs(id, 1)->at(0).stack});
  ASSERT_TRUE(store_->add_upgrade(row));
  put(kUnmeasured, "6.5.0", "2");
  measure("after", 0);
  ASSERT_TRUE(store_->add_upgrade_after("u2", "after", true));
  const auto judged = judge_and_keep(*store_, "u2", 2e9);
  ASSERT_TRUE(judged) << judged.error().message;
  EXPECT_NE(judged->verdict(), "pass") << golden_text(*judged);
  EXPECT_LT(judged->metrics(0).coverage(), 1);
}

TEST_F(UpgradeJudge, ALossIsToldWithNodesPartsAndOneFinding) {
  measure("after", 0.05);
  const api::Upgrade upgrade = judge("after");
  EXPECT_EQ(upgrade.verdict(), "regressed") << golden_text(upgrade);
  EXPECT_EQ(upgrade.kind(), "performance");
  ASSERT_THAT(upgrade.metrics(), SizeIs(1));
  EXPECT_EQ(upgrade.metrics(0).name(), "verbs.write_lat latency_ns median 8 B");
  EXPECT_NEAR(upgrade.metrics(0).worse_percent(), 5, 0.5);
  EXPECT_EQ(upgrade.metrics(0).changed_nodes(), 4U);
  EXPECT_EQ(upgrade.metrics(0).control_nodes(), 3U);
  ASSERT_THAT(upgrade.causes(), SizeIs(1));
  EXPECT_THAT(upgrade.causes(0).changes(),
              ElementsAre("linux_kernel 6.1.0 -> 6.5.0", "nic_firmware 1 -> 2"));
  EXPECT_TRUE(upgrade.causes(0).explains());
  EXPECT_THAT(upgrade.next(), testing::Contains(HasSubstr("undo linux_kernel on n1 alone")));
  EXPECT_THAT(upgrade.since(), testing::Not(IsEmpty()));
  EXPECT_EQ(golden_text(upgrade), golden_text(judge("after"))) << "chance comes from names alone";
  const auto findings = store_->list_findings("", 10);
  ASSERT_THAT(*findings, SizeIs(1)) << "judged twice, one finding";
  const auto finding = store_->finding("u1-performance");
  ASSERT_TRUE(finding) << finding.error().message;
  EXPECT_EQ(finding->series.size(), 5U);
  EXPECT_EQ(finding->run_id, "after");
  EXPECT_EQ(finding->upgrade_id, "u1");
  EXPECT_EQ(finding->steps.back().action, "comment");
  const auto again = upgrade_report(*store_, "");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(golden_text(*again), golden_text(upgrade)) << "as it was judged";
}

TEST_F(UpgradeJudge, AnAcceptedFindingOpensAgainOnlyWhenItWorsens) {
  measure("after", 0.05);
  judge("after");
  FindingsDesk desk(*store_);
  api::FindingStepRequest accept;
  accept.set_finding_id("u1-performance");
  accept.set_action("accept");
  ASSERT_TRUE(desk.step(accept, "ada", 2e9));
  judge("after");
  EXPECT_EQ(store_->finding("u1-performance")->state, "accepted");
  measure("worse", 0.2);
  judge("worse");
  EXPECT_EQ(store_->finding("u1-performance")->state, "reopened");
  EXPECT_NEAR(*store_->finding("u1-performance")->worse, 0.2, 0.02) << "what it is now";
  ASSERT_TRUE(desk.step(accept, "ada", 2e9));
  judge("worse");
  EXPECT_EQ(store_->finding("u1-performance")->state, "accepted");
  const auto levels = desk.baselines({});
  ASSERT_TRUE(levels);
  for (const api::Baseline& level : levels->baselines())
    EXPECT_GT(level.level(), 1.15 * kLevelNs) << "the level that was accepted last";
  EXPECT_THAT(levels->baselines(), SizeIs(5));
  EXPECT_EQ(levels->baselines(0).kind(), "accepted");
}

TEST_F(UpgradeJudge, AskingUntilItPassesIsHeldToAWiderInterval) {
  measure("after", 0);
  const api::Upgrade first = judge("after");
  EXPECT_THAT(first.notes(), testing::Not(testing::Contains(HasSubstr("looked at again"))));
  measure("again", 0);  // the same figures
  const api::Upgrade second = judge("again");
  EXPECT_GT(second.metrics(0).high_percent(), first.metrics(0).high_percent());
  EXPECT_THAT(second.notes(), testing::Contains(HasSubstr("looked at again")));
}

TEST_F(UpgradeJudge, APassEndsWhatWasOpen) {
  measure("after", 0.05);
  judge("after");
  measure("mended", 0);
  EXPECT_EQ(judge("mended").verdict(), "pass");
  EXPECT_EQ(store_->finding("u1-performance")->state, "fixed");
  measure("again", 0.05);
  judge("again");
  EXPECT_EQ(store_->finding("u1-performance")->state, "reopened");
}

TEST_F(UpgradeJudge, ATailThatIsNotThereAnyMoreIsMissingAndOneThatNeverWasIsNamed) {
  tails_ = {"p99"};
  measure("tails", 0);
  store::UpgradeRow row = *store_->upgrade("u1");
  row.upgrade_id = "u3";
  row.runs = {{.run_id = "tails"}};
  ASSERT_TRUE(store_->add_upgrade(row));
  const auto judged_by = [&](const std::string& run) {
    EXPECT_TRUE(store_->add_upgrade_after("u3", run, true));
    return judge_and_keep(*store_, "u3", 2e9).value_or(api::Upgrade());
  };
  measure("tails-after", 0);
  const api::Upgrade both = judged_by("tails-after");
  EXPECT_EQ(both.metrics_size(), 2) << golden_text(both);
  EXPECT_THAT(both.notes(), testing::Contains(HasSubstr("p99.9 8 B: not judged on 5 of 5 pairs")));
  tails_.clear();
  measure("no-tails", 0);
  const api::Upgrade lost = judged_by("no-tails");
  EXPECT_NE(lost.verdict(), "pass") << golden_text(lost);
  bool named = false;
  for (const api::JudgedMetric& metric : lost.metrics())
    named = named || (metric.name().find("p99") != std::string::npos && metric.missing_size() == 5);
  EXPECT_TRUE(named) << golden_text(lost);
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
  EXPECT_THAT(upgrade.notes(), testing::Contains(HasSubstr("changed too: n6")));
  for (const std::string& excluded : upgrade.excluded())
    EXPECT_THAT(excluded, testing::Not(HasSubstr("no NIC or GPU was replaced")));
}

TEST_F(UpgradeJudge, AStackThatChangesWhileASideIsMeasuredIsNoStatement) {
  measure("after", 0);
  put(6, "6.5.0", "2");
  put(6, "6.1.0", "1");  // a control, for a while only
  ASSERT_TRUE(store_->update_run({.run_id = "after", .state = "ended", .ended_at = 2e9}));
  const api::Upgrade pass = judge("after");
  EXPECT_EQ(pass.verdict(), "pass") << golden_text(pass);
  EXPECT_THAT(pass.notes(), testing::Contains(HasSubstr("changed too: n6")));
  put(2, "6.6.0", "2");
  const api::Upgrade upgrade = judge("after");
  EXPECT_EQ(upgrade.verdict(), "invalid") << golden_text(upgrade);
  EXPECT_THAT(upgrade.reason(), HasSubstr("n2 was measured with two stacks"));
  EXPECT_THAT(upgrade.reason(), HasSubstr("linux_kernel 6.5.0 -> 6.6.0"));
}

TEST_F(UpgradeJudge, ACheckThatPassedAndFailsNowIsLostFunction) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double since = store_->epochs("id-1", 1)->at(0).valid_from;
  ASSERT_TRUE(store_->put_preflight(
      {.node_id = "id-1", .at = since - 10, .checks = {{.check_id = "acs", .state = "pass"}}}));
  measure("after", 0);
  ASSERT_TRUE(store_->put_preflight(
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

TEST_F(UpgradeJudge, OneCrashWhereAllPassedIsLostFunction) {
  measure("after", 0, "crashed", "signal 11");
  const api::Upgrade upgrade = judge("after");
  EXPECT_EQ(upgrade.verdict(), "regressed");
  EXPECT_EQ(upgrade.kind(), "lost_function");
  ASSERT_THAT(upgrade.lost(), SizeIs(1));
  EXPECT_EQ(upgrade.lost(0).node(), "n1");
  EXPECT_EQ(upgrade.lost(0).what(), "passed before, now crashed");
}

TEST_F(UpgradeJudge, WrongBytesAreCorruption) {
  measure("after", 0, "failed", "byte 17 is 0x00; 0x2a was written");
  EXPECT_EQ(judge("after").kind(), "corruption");
}

TEST_F(UpgradeJudge, AControlThatChangedIsLeftOutByName) {
  put(6, "6.5.0", "1");
  measure("after", 0);
  const api::Upgrade upgrade = judge("after");
  EXPECT_EQ(upgrade.metrics(0).control_nodes(), 1U) << golden_text(upgrade);
  EXPECT_THAT(upgrade.notes(), testing::Contains(HasSubstr("changed too: n6")));
}

TEST_F(UpgradeJudge, WithoutAnAfterSideNothingIsSaid) {
  const api::Upgrade upgrade = judge("");
  EXPECT_EQ(upgrade.verdict(), "invalid");
  const auto prepared = store_->upgrade("u1");
  EXPECT_EQ(judge_and_keep(*store_, "u9", 2e9).error().code, Code::kNotFound);
}

TEST_F(UpgradeJudge, ThePreparedSideSaysTheSmallestLossItWillCall) {
  const auto report = upgrade_report(*store_, "u1");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->state(), "prepared");
  EXPECT_GT(report->visible_loss_percent(), 0.1);
  EXPECT_LT(report->visible_loss_percent(), 2);
}

TEST(Expectation, APartMayBeItsLastWordAndAVersionItsBeginning) {
  const store::StackParts stack{.versions = {{"gpu_driver", "580.95.05"}, {"cuda", "13.0"}}};
  EXPECT_EQ(unmet_expectation(stack, "driver", "580.95"), "");
  EXPECT_EQ(unmet_expectation(stack, "gpu_driver", "580.95.05"), "");
  EXPECT_THAT(unmet_expectation(stack, "driver", "580.9"), HasSubstr("expected 580.9"));
  EXPECT_THAT(unmet_expectation(stack, "ofed", "24"), HasSubstr("tells no ofed"));
  const store::StackParts nics{.versions = {{"nic_firmware.MT4129", "28.40"}}};
  EXPECT_EQ(unmet_expectation(nics, "nic_firmware", "28.40"), "");
  EXPECT_EQ(unmet_expectation(nics, "firmware", "28.40"), "");
  EXPECT_EQ(unmet_expectation(nics, "nic_firmware.MT4129", "28.40"), "");
  EXPECT_THAT(unmet_expectation(nics, "nic_firmware", "28.39"), HasSubstr("is 28.40"));
}

}  // namespace
}  // namespace railgauge
