#include "controller/report/next_steps.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::report {
namespace {

using namespace railgauge::api;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

void add_one(SiteReport& report, const std::string& id, const std::string& kind,
             const std::string& change, const std::string& state = "new") {
  ReportedFinding& finding = *report.add_findings();
  finding.set_finding_id(id);
  finding.set_event_id(id);
  finding.set_kind(kind);
  finding.set_change(change);
  finding.set_state(state);
}

void lose(SiteReport& report, const std::string& nodes) {
  ReportedNodes& row = *report.add_nodes();
  row.set_state("lost");
  row.set_nodes(nodes);
}

std::vector<std::string> steps_of(SiteReport report, const std::vector<Finding>& findings = {}) {
  add_next(findings, report);
  return {report.next().begin(), report.next().end()};
}

TEST(NextSteps, BackupsThatFailAndReportsThatDoNotArriveAreTheDoctors) {
  SiteReport report;
  report.add_events()->set_kind("delivery_works");
  report.add_events()->set_kind("backup_failed");
  report.add_events()->set_kind("delivery_late");
  EXPECT_THAT(steps_of(report), ElementsAre("railgauge doctor: backups fail"));
  report.mutable_events(0)->set_kind("delivery_failed");
  report.mutable_events(1)->set_kind("backup_works");
  EXPECT_THAT(steps_of(report), ElementsAre("railgauge doctor: reports do not arrive"));
}

TEST(NextSteps, LostNodesComeBeforeTheSecondFindingOfAKind) {
  SiteReport report;
  add_one(report, "a", "step", "confirmed");
  add_one(report, "b", "step", "new");
  add_one(report, "c", "corruption", "new");
  lose(report, "n7");
  EXPECT_THAT(steps_of(report), ElementsAre(HasSubstr("show a:"), HasSubstr("show c:"),
                                            StartsWith("bring back n7"), HasSubstr("show b:")));
}

TEST(NextSteps, AnOpenConfirmedFindingHasAStepUntilSomebodyTookIt) {
  SiteReport report;
  add_one(report, "a", "step", "open", "confirmed");
  add_one(report, "b", "drift", "open", "acknowledged");
  add_one(report, "c", "part", "fixed", "fixed");
  EXPECT_THAT(steps_of(report), ElementsAre(HasSubstr("show a:")));
}

TEST(NextSteps, AMorningWithoutARunSaysHowToMeasure) {
  SiteReport report;
  report.set_scope("since");
  EXPECT_THAT(steps_of(report), ElementsAre(testing::AllOf(HasSubstr("railgauge schedules set"),
                                                           HasSubstr("railgauge doctor"))));
  report.add_runs();
  EXPECT_THAT(steps_of(report), IsEmpty());
}

TEST(NextSteps, FindingsOfOneEventAreOneStep) {
  SiteReport report;
  add_one(report, "a", "step", "new");
  add_one(report, "b", "step", "new");
  report.mutable_findings(1)->set_event_id("a");
  EXPECT_THAT(steps_of(report), SizeIs(1));
}

TEST(NextSteps, AProposalHasTheCommandThatAnswersIt) {
  SiteReport report;
  ReportedUpgrade& proposed = *report.add_upgrades();
  proposed.set_state("proposed");
  proposed.set_nodes("n[1-3]");
  proposed.set_text("changed gpu_driver -> 9; not measured by policy: busy");
  EXPECT_THAT(steps_of(report), ElementsAre("railgauge upgrades gate --nodes n[1-3]: they changed "
                                            "gpu_driver -> 9, measure what it cost"));
}

// Whatever happened, all that is urgent is in the page's steps.
TEST(NextSteps, AreNeverMoreThanThePageShowsWhateverHappened) {
  SiteReport report;
  for (int i = 0; i < 40; ++i)
    add_one(report, "f" + std::to_string(i), "kind" + std::to_string(i % 9), "new");
  for (int i = 0; i < 9; ++i) {
    const std::string name = std::to_string(i);
    lose(report, "n" + name);
    ReportedSuspect& suspect = *report.add_suspects();
    suspect.set_run_id("r" + name);
    suspect.set_confirmed(true);
    report.add_upgrades()->set_upgrade_id("u" + name);
    ReportedRun& run = *report.add_runs();
    run.set_failed(1);
    run.mutable_run()->set_run_id("r" + name);
    ReportedSchedule& schedule = *report.add_schedules();
    schedule.set_schedule("s" + name);
    schedule.set_missed("skipped");
    report.add_events()->set_kind(i % 2 == 0 ? "backup_failed" : "delivery_failed");
  }
  const auto steps = steps_of(report);
  EXPECT_THAT(steps, SizeIs(kMostUrgentSteps));
  EXPECT_THAT(steps, Contains("railgauge findings: 35 more"));
  EXPECT_THAT(steps, Contains("railgauge upgrades: 5 more wait or got worse"));
  EXPECT_THAT(steps, Contains("railgauge runs show r0: why tasks failed (and 8 more)"));
  EXPECT_THAT(steps, Contains(StartsWith("bring back n0,n1,n2")));
}

TEST(NextSteps, WhatFindingsAdviseComesLastAndOnce) {
  SiteReport report;
  add_one(report, "a", "step", "new");
  add_one(report, "b", "drift", "new");
  lose(report, "n1");
  std::vector<Finding> findings(2);
  findings[0].set_finding_id("a");
  findings[1].set_finding_id("b");
  for (Finding& finding : findings) finding.add_next("railgauge preflight n1");
  const auto steps = steps_of(report, findings);
  ASSERT_THAT(steps, SizeIs(4));
  EXPECT_EQ(steps.back(), "railgauge preflight n1");
  EXPECT_THAT(steps_of(SiteReport(), findings), IsEmpty());
}

}  // namespace
}  // namespace railgauge::report
