#include "controller/report/site_report.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/report/page.h"
#include "controller/report/testing/morning.h"
#include "kernels/core/text/json.h"
#include "kernels/testing/rendered_file.h"

namespace railgauge::report {
namespace {

using namespace railgauge::api;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> changes_of(const SiteReport& report) {
  std::vector<std::string> changes;
  for (const ReportedFinding& finding : report.findings()) changes.push_back(finding.change());
  return changes;
}

TEST(SiteReport, OfAMorningIsAsItsGoldenFiles) {
  const SiteReport report = make_report(morning());
  const std::string folder = "controller/report/testdata/morning";
  expect_file(folder + ".json", to_json(report, JsonLayout::kIndented) + "\n");
  expect_file(folder + ".txt", page_text(page_of(report)));
  expect_file(folder + ".markdown", page_markdown(page_of(report)));
}

TEST(SiteReport, IsTheSameForTheSameMaterial) {
  EXPECT_EQ(make_report(morning()).SerializeAsString(), make_report(morning()).SerializeAsString());
}

TEST(SiteReport, OfAMorningFitsTwoScreensOf80Columns) {
  const std::string text = page_text(page_of(make_report(morning())));
  EXPECT_LE(std::ranges::count(text, '\n'), 110) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(SiteReport, OfAModelledSiteSaysItWhateverItHas) {
  Material material{.from_at = "2026-11-25T08:00:00Z", .until_at = "2026-11-26T08:00:00Z"};
  EXPECT_FALSE(make_report(material).synthetic());
  EXPECT_EQ(make_report(material).headline(), "nothing was measured");
  material.is_synthetic = true;
  EXPECT_TRUE(make_report(material).synthetic());
  EXPECT_EQ(make_report(material).headline(), "SYNTHETIC: nothing was measured");
}

TEST(SiteReport, ABackupThatFailedIsAnEventAndAStep) {
  Material material = morning();
  Event& event = material.events.emplace_back();
  event.set_at("2026-11-26T03:00:00.000Z");
  event.set_kind("backup_failed");
  event.set_text("backup folder /b: everybody may write to it; chmod o-w");
  const std::string text = page_text(page_of(make_report(material)));
  EXPECT_THAT(text, HasSubstr("\n  backup_failed  2026-11-26 03:00 UTC\n"));
  EXPECT_THAT(text, HasSubstr("railgauge doctor: backups fail\n"));
}

TEST(SiteReport, AFindingWhoseCauseWasTakenBackIsMendedAsAFixedOneIs) {
  Material material = morning();
  for (Finding& finding : material.findings)
    if (finding.state() == "fixed") finding.set_state("rolled_back");
  EXPECT_THAT(changes_of(make_report(material)),
              ElementsAre("confirmed", "new", "new", "open", "fixed"));
}

TEST(SiteReport, FindingsHaveWhatHappenedToThem) {
  EXPECT_THAT(changes_of(make_report(morning())),
              ElementsAre("confirmed", "new", "new", "open", "fixed"));
  Material material = morning();
  material.findings.resize(1);
  material.findings[0].mutable_steps(0)->set_action("reopen");
  material.findings[0].set_opened_at("2026-11-01T00:00:00.000Z");
  EXPECT_THAT(changes_of(make_report(material)), ElementsAre("worse"));
  material.findings[0].mutable_steps(0)->set_at("2026-11-02T00:00:00.000Z");
  EXPECT_THAT(changes_of(make_report(material)), ElementsAre("open")) << "before its time";
  material.findings[0].mutable_steps(0)->set_at("2026-11-26T02:15:00.000Z");
  material.findings[0].mutable_steps(0)->set_action("worse");
  EXPECT_THAT(changes_of(make_report(material)), ElementsAre("worse"));
  material.findings[0].mutable_steps(0)->set_action("comment");
  material.findings[0].mutable_steps(0)->set_text("slower, worse than confirmed");
  EXPECT_THAT(changes_of(make_report(material)), ElementsAre("open")) << "words decide nothing";
  material.findings[0].set_state("false");
  EXPECT_THAT(changes_of(make_report(material)), IsEmpty());
}

TEST(SiteReport, TheHeadlineTellsConfirmedFindingsFromNewOnes) {
  Material material = morning();
  EXPECT_THAT(make_report(material).headline(),
              HasSubstr(", 1 finding confirmed, 2 findings new or worse, "));
  material.findings.resize(1);
  const SiteReport report = make_report(material);
  EXPECT_THAT(report.headline(),
              AllOf(HasSubstr("1 finding confirmed"), Not(HasSubstr("new or worse"))));
  EXPECT_EQ(report.verdict(), "regressed");
}

TEST(SiteReport, FailuresOfALaterStageComeBeforeWhatWasLeftOut) {
  Material material;
  TaskGroups& run = material.runs.emplace_back();
  run.mutable_run()->set_run_id("r1");
  for (int i = 0; i < 25; ++i) {
    TaskGroup& waived = *run.add_groups();
    waived.set_outcome("waived");
    waived.set_tasks(1);
  }
  TaskGroup& failed = *run.add_groups();
  failed.set_stage(1);
  failed.set_outcome("crashed");
  failed.set_tasks(1);
  const SiteReport report = make_report(material);
  ASSERT_EQ(report.runs(0).groups_size(), 20);
  EXPECT_EQ(report.runs(0).groups(0).outcome(), "crashed");
  ASSERT_EQ(report.cuts_size(), 1);
  EXPECT_EQ(report.cuts(0).list(), "groups");
  EXPECT_EQ(report.cuts(0).run_id(), "r1");
  EXPECT_EQ(report.cuts(0).left(), 6);
  EXPECT_THAT(page_text(page_of(report)),
              AllOf(HasSubstr("Not in this report"), HasSubstr("6 more"),
                    HasSubstr("groups of run r1: the first 20 are here")));
}

TEST(SiteReport, DoesNotPassWhereNotAllWasRead) {
  Material material;
  TaskGroup& passed = *material.runs.emplace_back().add_groups();
  passed.set_outcome("passed");
  passed.set_tasks(1);
  EXPECT_EQ(make_report(material).verdict(), "pass");
  ReportedCut& cut = material.cuts.emplace_back();
  cut.set_list("runs");
  cut.set_shown(200);
  EXPECT_EQ(make_report(material).verdict(), "inconclusive");
}

TEST(SiteReport, PassesOnlyWhereAllWasMeasuredAndNothingWaits) {
  Material material{.from_at = "2026-11-25T08:00:00.000Z", .until_at = "2026-11-26T08:00:00.000Z"};
  EXPECT_EQ(make_report(material).verdict(), "invalid") << "nothing was measured";
  TaskGroups& run = material.runs.emplace_back();
  TaskGroup& passed = *run.add_groups();
  passed.set_outcome("passed");
  passed.set_tasks(10);
  EXPECT_EQ(make_report(material).verdict(), "pass");
  EXPECT_THAT(make_report(material).next(), IsEmpty());
  TaskGroup& waived = *run.add_groups();
  waived.set_outcome("waived");
  waived.set_tasks(1);
  EXPECT_EQ(make_report(material).verdict(), "inconclusive") << "a task was left out";
  run.mutable_groups()->RemoveLast();
  material.nodes.add_nodes()->set_state("lost");
  EXPECT_EQ(make_report(material).verdict(), "inconclusive") << "a node is away";
  material.nodes.clear_nodes();
  material.upgrades.emplace_back().set_upgrade_id("u1");
  EXPECT_EQ(make_report(material).verdict(), "inconclusive") << "an upgrade waits";
  material.upgrades[0].set_verdict("regressed");
  EXPECT_EQ(make_report(material).verdict(), "regressed");
  EXPECT_THAT(make_report(material).next(), Contains(HasSubstr("upgrades show u1")));
}

// The proposals of the nodes n1 to n3 and n4, the newest first.
google::protobuf::RepeatedPtrField<Event> two_proposals() {
  google::protobuf::RepeatedPtrField<Event> events;
  for (const auto& [at, proposal] :
       {std::pair("2026-11-23T06:00:00.000Z", Proposal{.nodes = {"n3", "n4"}, .to = "kernel -> 6"}),
        std::pair("2026-11-22T06:00:00.000Z", Proposal{.nodes = {"n1", "n2", "n3"}, .to = "x"})}) {
    Event& event = *events.Add();
    event.set_at(at);
    event.set_text(proposal_text(proposal, 900));
  }
  events.Add()->set_text("of another form");
  return events;
}

TEST(WaitingProposals, ALaterProposalOfANodeAnswersTheEarlierOne) {
  const auto waiting = waiting_proposals(two_proposals(), {});
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_THAT(waiting[0].proposal.nodes, ElementsAre("n3", "n4"));
  EXPECT_THAT(waiting[1].proposal.nodes, ElementsAre("n1", "n2"));
}

TEST(WaitingProposals, AnUpgradeOfTheNodesAnswersThem) {
  google::protobuf::RepeatedPtrField<Upgrade> upgrades;
  Upgrade& upgrade = *upgrades.Add();
  upgrade.add_nodes("n1");
  upgrade.add_nodes("n3");
  upgrade.set_state("prepared");
  upgrade.set_created_at("2026-11-22T00:00:00.000Z");
  EXPECT_EQ(waiting_proposals(two_proposals(), upgrades).size(), 2U) << "it waits as well";
  upgrade.set_state("measuring");
  auto waiting = waiting_proposals(two_proposals(), upgrades);
  EXPECT_THAT(waiting[0].proposal.nodes, ElementsAre("n4"));
  EXPECT_THAT(waiting[1].proposal.nodes, ElementsAre("n2"));
  upgrade.set_state("judged");
  upgrade.set_judged_at("2026-11-22T08:00:00.000Z");
  waiting = waiting_proposals(two_proposals(), upgrades);
  EXPECT_THAT(waiting[0].proposal.nodes, ElementsAre("n3", "n4")) << "proposed again afterwards";
  EXPECT_THAT(waiting[1].proposal.nodes, ElementsAre("n2"));
}

TEST(SiteReport, AMissedDueTimeOutsideItsTimeIsLeftOut) {
  Material material = morning();
  EXPECT_EQ(make_report(material).schedules(1).missed_at(), "2026-11-26T02:00:00.000Z");
  material.from_at = "2026-11-26T03:00:00.000Z";
  EXPECT_EQ(make_report(material).schedules(1).missed(), "");
}

}  // namespace
}  // namespace railgauge::report
