// Verdicts over a real store that is filled with synthetic points: what is said, to the digit.
#include "controller/upgrades/upgrade_judge.h"

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/findings/finding_service.h"
#include "controller/gate/gate_service.h"
#include "controller/testing/upgrade_bench.h"
#include "controller/upgrades/gate_terms.h"

namespace railgauge::testing_upgrade {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(UpgradeJudge, NothingLostIsAPassWithItsBound) {
  measure("after", 0);
  const api::Upgrade upgrade = judge("after");
  EXPECT_EQ(upgrade.verdict(), "pass") << golden_text(upgrade);
  EXPECT_LT(upgrade.metrics(0).high_percent(), 2);
  EXPECT_DOUBLE_EQ(upgrade.metrics(0).coverage(), 1);
  EXPECT_TRUE(upgrade.synthetic());
  EXPECT_THAT(upgrade.notes(), testing::Contains(HasSubstr("its checks are not compared: n1")));
  EXPECT_THAT(*store_->read(store::read_findings, {}, 10), IsEmpty());
  EXPECT_THAT(upgrade.excluded(), testing::Contains(HasSubstr("a cause common to all")));
}

// An upgrade of the nodes of u1 and of one more, which no run has.
class UpgradeOfOneMore : public UpgradeJudge {
 protected:
  void begin_with_an_unmeasured_node(const std::string& upgrade_id) {
    constexpr int kUnmeasured = kNodes + 1;
    put(kUnmeasured, "6.1.0", "1");
    store::UpgradeRow row = *store_->read(store::read_upgrade, "u1");
    row.upgrade_id = upgrade_id;
    const std::string id = fmt::format("id-{}", kUnmeasured);
    row.nodes.push_back({.node_id = id,
                         .changed = true,
                         .stack_before = store_->read(store::read_epochs, id, 1)->at(0).stack});
    ASSERT_TRUE(store_->write(store::write_upgrade, row));
    put(kUnmeasured, "6.5.0", "2");
  }
};

// In no run at all: waived before as after, or never planned.
TEST_F(UpgradeOfOneMore, AChangedNodeThatNeitherSideMeasuredForbidsAPass) {
  begin_with_an_unmeasured_node("u2");
  measure("after", 0);
  ASSERT_TRUE(store_->write(store::write_upgrade_after, "u2", "after", true));
  const auto judged = judge_and_keep(*store_, "u2", 2e9);
  ASSERT_TRUE(judged) << judged.error().message;
  EXPECT_NE(judged->verdict(), "pass") << golden_text(*judged);
  EXPECT_LT(judged->metrics(0).coverage(), 1);
}

// The terms are the store's: whoever judges needs not know them.
TEST_F(UpgradeOfOneMore, TheStoredTermsOfAGateDecideAndAreToldWithItsVerdict) {
  begin_with_an_unmeasured_node("u2");
  measure("after", 0);
  const GateTerms terms{.min_coverage = 0.5, .ends_at = 3e9};
  ASSERT_TRUE(
      store_->write(store::write_upgrade_after_on, "u2", "after", true, stored_text(terms)));
  EXPECT_EQ(upgrade_report(*store_, "u2")->min_coverage(), 0.5) << "also before the verdict";
  const double now = store_->run_summary("after")->run.created_at;
  const auto judged = judge_if_measured(*store_, "u2", now);
  ASSERT_TRUE(judged) << judged.error().message;
  ASSERT_TRUE(*judged);
  EXPECT_EQ((*judged)->verdict(), "pass") << golden_text(**judged);
  EXPECT_EQ((*judged)->min_coverage(), 0.5);
  EXPECT_EQ((*judged)->ends_at_unix_seconds(), 3e9);
  EXPECT_EQ(judge_and_keep(*store_, "u2", now)->verdict(), "pass") << "judged once more";
  EXPECT_NE(judge_and_keep(*store_, "u2", now, 1)->verdict(), "pass") << "by other terms";
}

TEST(GateTerms, AreThoseOfTheRequestWhereItStatesThem) {
  api::GateRequest request;
  const GateTerms stored{.min_coverage = 0.9, .ends_at = 5};
  EXPECT_EQ(terms_with(stored, request, 100).min_coverage, 0.9);
  EXPECT_EQ(terms_with(stored, request, 100).ends_at, 5);
  request.set_min_coverage(0.8);
  request.set_time_limit_seconds(60);
  EXPECT_EQ(terms_with(stored, request, 100).min_coverage, 0.8);
  EXPECT_EQ(terms_with(stored, request, 100).ends_at, 160);
  EXPECT_EQ(stored_text({}), "") << "the usual terms need no text";
  store::UpgradeRow row;
  EXPECT_EQ(terms_of(row).min_coverage, 1);
  row.report = stored_text(stored);
  EXPECT_EQ(terms_of(row).min_coverage, 0.9);
  EXPECT_EQ(terms_of(row).ends_at, 5);
  request.set_min_coverage(1.5);
  EXPECT_EQ(check_terms(request).error().code, Code::kInvalidArgument);
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
  const auto findings = store_->read(store::read_findings, {}, 10);
  ASSERT_THAT(*findings, SizeIs(1)) << "judged twice, one finding";
  const auto finding = store_->read(store::read_finding, "u1-performance");
  ASSERT_TRUE(finding) << finding.error().message;
  EXPECT_EQ(finding->series.size(), 5U);
  EXPECT_EQ(finding->run_id, "after");
  EXPECT_EQ(finding->upgrade_id, "u1");
  EXPECT_EQ(finding->steps.size(), 1U) << "the same run shows nothing new";
  const auto again = upgrade_report(*store_, "");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(golden_text(*again), golden_text(upgrade)) << "as it was judged";
}

TEST_F(UpgradeJudge, AnAcceptedFindingOpensAgainOnlyWhenItWorsens) {
  measure("after", 0.05);
  judge("after");
  FindingService desk(*store_);
  api::FindingStepRequest accept;
  accept.set_finding_id("u1-performance");
  accept.set_action("accept");
  ASSERT_TRUE(desk.step(accept, "ada", 2e9));
  judge("after");
  EXPECT_EQ(store_->read(store::read_finding, "u1-performance")->state,
            store::FindingState::kAccepted);
  measure("worse", 0.2);
  judge("worse");
  EXPECT_EQ(store_->read(store::read_finding, "u1-performance")->state,
            store::FindingState::kReopened);
  EXPECT_NEAR(*store_->read(store::read_finding, "u1-performance")->worse, 0.2, 0.02)
      << "what it is now";
  ASSERT_TRUE(desk.step(accept, "ada", 2e9));
  judge("worse");
  EXPECT_EQ(store_->read(store::read_finding, "u1-performance")->state,
            store::FindingState::kAccepted);
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
  EXPECT_THAT(first.notes(), testing::Not(testing::Contains(HasSubstr("repeated look"))));
  measure("again", 0);  // the same figures
  const api::Upgrade second = judge("again");
  EXPECT_GT(second.metrics(0).high_percent(), first.metrics(0).high_percent());
  EXPECT_THAT(second.notes(), testing::Contains(HasSubstr("repeated look")));
}

TEST_F(UpgradeJudge, APassEndsWhatWasOpen) {
  measure("after", 0.05);
  judge("after");
  measure("mended", 0);
  EXPECT_EQ(judge("mended").verdict(), "pass");
  EXPECT_EQ(store_->read(store::read_finding, "u1-performance")->state,
            store::FindingState::kFixed);
  measure("again", 0.05);
  judge("again");
  EXPECT_EQ(store_->read(store::read_finding, "u1-performance")->state,
            store::FindingState::kReopened);
}

// One run more of the after side, which continues.
TEST_F(UpgradeJudge, ALossThatFurtherRunsShowIsConfirmed) {
  measure("after", 0.05);
  judge("after");
  EXPECT_EQ(store_->read(store::read_finding, "u1-performance")->state, store::FindingState::kNew);
  measure("more", 0.05);
  ASSERT_TRUE(store_->write(store::write_upgrade_after, "u1", "more", false));
  for (int times = 0; times < 2; ++times) ASSERT_TRUE(judge_and_keep(*store_, "u1", 2e9));
  const auto finding = store_->read(store::read_finding, "u1-performance");
  EXPECT_EQ(finding->state, store::FindingState::kConfirmed);
  EXPECT_EQ(std::ranges::count(finding->steps, "confirm", &store::FindingStepRow::action), 1);
}

// A CLI and the controller judge the same facts at any time, also at once.
TEST_F(UpgradeJudge, JudgedOnceMoreNothingChanges) {
  measure("after", 0.05);
  ASSERT_TRUE(store_->write(store::write_upgrade_after, "u1", "after", true));
  constexpr double kEnd = 2e9;
  const double ended_at = store_->run_summary("after")->run.created_at;
  std::vector<std::thread> judges;
  for (int i = 0; i < 4; ++i)
    judges.emplace_back([this, i, ended_at] {
      if (i % 2 == 0) EXPECT_TRUE(judge_and_keep(*store_, "u1", kEnd + i));
      if (i % 2 == 1) EXPECT_TRUE(judge_if_measured(*store_, "u1", ended_at));
    });
  for (std::thread& judge : judges) judge.join();
  const auto rows = store_->read(store::read_upgrade, "u1");
  const auto finding = store_->read(store::read_finding, "u1-performance");
  ASSERT_TRUE(finding) << finding.error().message;
  EXPECT_EQ(finding->steps.size(), 1U);
  const auto again = judge_and_keep(*store_, "u1", kEnd + 10);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->finding_id(), "u1-performance");
  EXPECT_EQ(store_->read(store::read_upgrade, "u1")->judged_at, rows->judged_at);
  EXPECT_EQ(store_->read(store::read_upgrade, "u1")->report, rows->report);
  FindingService desk(*store_);
  api::FindingStepRequest resolve;
  resolve.set_finding_id("u1-performance");
  resolve.set_action("resolve");
  ASSERT_TRUE(desk.step(resolve, "ada", kEnd));
  ASSERT_TRUE(judge_and_keep(*store_, "u1", kEnd + 10));
  EXPECT_EQ(store_->read(store::read_finding, "u1-performance")->state, store::FindingState::kFixed)
      << "nothing was measured since";
}

// A process that ended between the finding and the verdict.
TEST_F(UpgradeJudge, AFindingWhoseVerdictIsMissingIsNotToldTwice) {
  measure("after", 0.05);
  judge("after");
  judge("after");
  EXPECT_EQ(store_->read(store::read_finding, "u1-performance")->steps.size(), 1U);
}

TEST_F(UpgradeJudge, TheControllerJudgesWhatIsMeasuredAndHasNoVerdict) {
  EXPECT_EQ(judge_if_measured(*store_, "u1", 2e9)->has_value(), false) << "not begun";
  measure("after", 0);
  const double now = store_->run_summary("after")->run.created_at;
  ASSERT_TRUE(store_->write(store::write_upgrade_after, "u1", "after", true));
  EXPECT_EQ(judge_if_measured(*store_, "u1", now + 2 * kWindowAgoSeconds)->has_value(), false)
      << "long ago";
  const auto judged = judge_if_measured(*store_, "u1", now);
  ASSERT_TRUE(judged) << judged.error().message;
  ASSERT_TRUE(*judged);
  EXPECT_EQ((*judged)->verdict(), "pass");
  EXPECT_EQ(judge_if_measured(*store_, "u1", now)->has_value(), false) << "judged";
  EXPECT_EQ(judge_if_measured(*store_, "u9", now).error().code, Code::kNotFound);
}

TEST_F(UpgradeJudge, WhatIsNotLostAnyMoreIsOverThoughTheUpgradeStillCosts) {
  measure("crash", 0, "crashed", "signal 11");
  judge("crash");
  ASSERT_EQ(store_->read(store::read_finding, "u1-lost_function")->state,
            store::FindingState::kNew);
  measure("slow", 0.05);
  EXPECT_EQ(judge("slow").kind(), "performance");
  EXPECT_EQ(store_->read(store::read_finding, "u1-lost_function")->state,
            store::FindingState::kFixed);
  EXPECT_EQ(store_->read(store::read_finding, "u1-performance")->state, store::FindingState::kNew);
  measure("both", 0.05, "crashed", "signal 11");
  EXPECT_EQ(judge("both").kind(), "lost_function");
  EXPECT_EQ(store_->read(store::read_finding, "u1-performance")->state, store::FindingState::kNew)
      << "it is slow as before";
  EXPECT_EQ(store_->read(store::read_finding, "u1-lost_function")->state,
            store::FindingState::kReopened);
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

TEST_F(UpgradeJudge, WithoutAnAfterSideNothingIsSaid) {
  const api::Upgrade upgrade = judge("");
  EXPECT_EQ(upgrade.verdict(), "invalid");
  const auto prepared = store_->read(store::read_upgrade, "u1");
  EXPECT_EQ(judge_and_keep(*store_, "u9", 2e9).error().code, Code::kNotFound);
}

TEST_F(UpgradeJudge, ThePreparedSideSaysTheSmallestLossItWillCall) {
  const auto report = upgrade_report(*store_, "u1");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->state(), "prepared");
  EXPECT_GT(report->visible_loss_percent(), 0.1);
  EXPECT_LT(report->visible_loss_percent(), 2);
}

TEST(MovedTo, AModuleThatItsFirstUserLoadsIsNoUpgradeAndItsOptionIsOne) {
  const store::StackParts bare{.versions = {{"linux_kernel", "6.1"}}};
  store::StackParts loaded = bare;
  loaded.settings["module.nvidia_uvm.uvm_debug_prints"] = "0";
  EXPECT_THAT(moved_to(bare, loaded), IsEmpty());
  EXPECT_THAT(moved_to(loaded, bare), IsEmpty());
  store::StackParts other = loaded;
  other.settings["module.nvidia_uvm.uvm_debug_prints"] = "1";
  EXPECT_THAT(moved_to(loaded, other), ElementsAre("module.nvidia_uvm.uvm_debug_prints -> 1"));
  other.settings["modprobe.nvidia"] = "NVreg_X=1";
  EXPECT_THAT(moved_to(bare, other), ElementsAre("modprobe.nvidia -> NVreg_X=1"));
}

TEST(Expectation, APartMayBeItsLastWordAndAVersionItsBeginning) {
  const store::StackParts stack{.versions = {{"gpu_driver", "580.95.05"}, {"cuda", "13.0"}}};
  EXPECT_EQ(unmet_expectation(stack, "driver", "580.95"), "");
  EXPECT_EQ(unmet_expectation(stack, "gpu_driver", "580.95.05"), "");
  EXPECT_THAT(unmet_expectation(stack, "driver", "580.9"), HasSubstr("expected 580.9"));
  EXPECT_THAT(unmet_expectation(stack, "ofed", "24"), HasSubstr("reports no ofed"));
  const store::StackParts nics{.versions = {{"nic_firmware.MT4129", "28.40"}}};
  EXPECT_EQ(unmet_expectation(nics, "nic_firmware", "28.40"), "");
  EXPECT_EQ(unmet_expectation(nics, "firmware", "28.40"), "");
  EXPECT_EQ(unmet_expectation(nics, "nic_firmware.MT4129", "28.40"), "");
  EXPECT_THAT(unmet_expectation(nics, "nic_firmware", "28.39"), HasSubstr("is 28.40"));
}

}  // namespace
}  // namespace railgauge::testing_upgrade
