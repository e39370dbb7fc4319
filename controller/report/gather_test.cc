#include "controller/report/gather.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/report/testing/morning.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::report {
namespace {

using namespace railgauge::api;
using testing::IsEmpty;
using testing::SizeIs;

// A source that answers with the made-up morning.
Source source_of(const Material& material) {
  return {.nodes = [&] { return material.nodes; },
          .runs =
              [&](std::uint32_t) {
                RunList list;
                for (const TaskGroups& run : material.runs) *list.add_runs() = run.run();
                return list;
              },
          .groups = [&](const std::string& run_id) -> Result<TaskGroups> {
            for (const TaskGroups& run : material.runs)
              if (run.run().run_id() == run_id) return run;
            return fail(Code::kNotFound, run_id);
          },
          .suspects = [&](const std::string&) -> Result<SuspectList> {
            if (material.suspects.empty()) return fail(Code::kFailedPrecondition, "no pairs");
            return material.suspects.front();
          },
          .findings =
              [&](const std::string& state, std::uint32_t) {
                FindingList list;
                for (const Finding& finding : material.findings)
                  if (state.empty() ? finding.state() != "fixed" : finding.state() == state)
                    *list.add_findings() = finding;
                return list;
              },
          .finding = [&](const std::string& id) -> Result<Finding> {
            for (const Finding& finding : material.findings)
              if (finding.finding_id() == id) return finding;
            return fail(Code::kNotFound, id);
          },
          .upgrades =
              [&](std::uint32_t) {
                UpgradeList list;
                for (const Upgrade& upgrade : material.upgrades) *list.add_upgrades() = upgrade;
                return list;
              },
          .upgrade = [&](const std::string&) { return material.upgrades.front(); },
          .schedules =
              [&](const std::string& name) {
                ScheduleList list;
                for (const ScheduleInfo& one : material.schedules)
                  if (name.empty() || one.name() == name) *list.add_schedules() = one;
                return list;
              },
          .events =
              [&](double, std::uint32_t) {
                EventList list;
                for (const Event& event : material.events) *list.add_events() = event;
                return list;
              },
          .proposals =
              [&](std::uint32_t) {
                EventList list;
                for (const Event& event : material.events)
                  if (event.kind() == kProposedKind) *list.add_events() = event;
                return list;
              }};
}

double at(const std::string& time) { return parse_calendar(time).value(); }

TEST(Gather, ANightHasItsRunsAndWhatIsOpen) {
  const Material material = morning();
  const Source source = source_of(material);
  const Gathered gathered =
      gather_since(source, at(material.from_at), at(material.until_at)).value();
  EXPECT_THAT(gathered.material.runs, SizeIs(material.runs.size()));
  EXPECT_EQ(gathered.material.nodes.nodes_size(), material.nodes.nodes_size());
  EXPECT_EQ(gathered.material.from_at, material.from_at);
  EXPECT_THAT(gathered.material.events, SizeIs(material.events.size()));
}

TEST(Gather, ALaterStartLeavesTheNightOut) {
  const Material material = morning();
  const Source source = source_of(material);
  const double until = at(material.until_at);
  EXPECT_THAT(gather_since(source, until + 60, until + 120).value().material.runs, IsEmpty());
}

TEST(Gather, ARunHasOnlyWhatBelongsToIt) {
  const Material material = morning();
  const Source source = source_of(material);
  const std::string run_id = material.runs.front().run().run_id();
  const Gathered gathered = gather_run(source, run_id, at(material.until_at)).value();
  EXPECT_EQ(gathered.material.scope, "run");
  EXPECT_THAT(gathered.material.runs, SizeIs(1));
  EXPECT_THAT(gathered.material.upgrades, IsEmpty());
  EXPECT_THAT(gathered.material.proposals, IsEmpty());
  EXPECT_TRUE(std::ranges::all_of(gathered.material.findings,
                                  [&](const Finding& one) { return one.run_id() == run_id; }));
}

TEST(Gather, TheMorningAfterARunHasAllThatIsOpenAndWaits) {
  const Material material = morning();
  const Source source = source_of(material);
  const std::string run_id = material.runs.front().run().run_id();
  const Material made = gather_morning(source, run_id, at(material.until_at)).value().material;
  EXPECT_EQ(made.scope, "run");
  EXPECT_EQ(made.subject, run_id);
  EXPECT_EQ(made.from_at, "2026-11-25T01:30:00.000Z") << "the due time before";
  EXPECT_THAT(made.runs, SizeIs(1));
  EXPECT_THAT(made.findings, SizeIs(material.findings.size()));
  EXPECT_THAT(made.upgrades, SizeIs(1));
  EXPECT_THAT(made.proposals, SizeIs(1));
  EXPECT_THAT(made.schedules, SizeIs(2));
  EXPECT_THAT(made.events, SizeIs(material.events.size())) << "those without a run too";
}

TEST(Gather, TheFirstMorningOfAScheduleHasADay) {
  Material material = morning();
  material.schedules.front().mutable_dues()->RemoveLast();
  const Source source = source_of(material);
  const std::string run_id = material.runs.front().run().run_id();
  EXPECT_EQ(gather_morning(source, run_id, at(material.until_at)).value().material.from_at,
            "2026-11-25T01:30:00.000Z");
}

// The night before opened a finding when it was judged, after its due time.
TEST(Gather, WhatTheReportOfTheNightBeforeHasIsNoNews) {
  Material material = morning();
  TaskGroups& before = material.runs.emplace_back();
  before.mutable_run()->set_run_id(material.schedules.front().dues(1).run_id());
  before.mutable_run()->set_state("ended");
  before.mutable_run()->set_created_at("2026-11-25T01:30:00.000Z");
  before.mutable_run()->set_ended_at("2026-11-25T02:10:00.000Z");
  before.mutable_run()->set_judged_at("2026-11-25T02:11:00.000Z");
  material.findings.resize(2);
  material.findings[0].clear_steps();
  material.findings[0].set_opened_at("2026-11-25T02:11:00.000Z");
  material.findings[1].set_opened_at("2026-11-25T02:10:30.000Z");
  const Source source = source_of(material);
  const std::string run_id = material.runs.front().run().run_id();
  const Material made = gather_morning(source, run_id, at(material.until_at)).value().material;
  EXPECT_THAT(made.runs, SizeIs(1)) << "without the run before";
  EXPECT_EQ(made.news_from_at, "2026-11-25T02:11:00.000Z");
  const SiteReport report = make_report(made);
  ASSERT_EQ(report.findings_size(), 2);
  EXPECT_EQ(report.findings(0).change(), "new");
  EXPECT_EQ(report.findings(1).change(), "open") << "before the judge had ended";
}

TEST(Gather, AProposalWaitsHoweverOldItIs) {
  const Material material = morning();
  const Source source = source_of(material);
  const double until = at(material.until_at) + 3 * 86'400;
  const Material made = gather_since(source, until - 86'400, until).value().material;
  ASSERT_THAT(made.proposals, SizeIs(1));
  EXPECT_EQ(made.proposals[0].proposal.nodes.size(), 16U);
}

TEST(Gather, ARunWithoutPairsHasNoSuspects) {
  Material material = morning();
  material.suspects.clear();
  const Source source = source_of(material);
  const std::string run_id = material.runs.front().run().run_id();
  const auto gathered = gather_run(source, run_id, at(material.until_at));
  ASSERT_TRUE(gathered) << gathered.error().message;
  EXPECT_THAT(gathered->material.suspects, IsEmpty());
}

TEST(Gather, ErrorsOfTheCallsAreTheAnswer) {
  const Material material = morning();
  Source source = source_of(material);
  EXPECT_EQ(gather_run(source, "run-9999", at(material.until_at)).error().code, Code::kNotFound);
  source.suspects = [](const std::string&) -> Result<SuspectList> {
    return fail(Code::kUnavailable, "the controller is away");
  };
  const std::string run_id = material.runs.front().run().run_id();
  EXPECT_EQ(gather_run(source, run_id, at(material.until_at)).error().code, Code::kUnavailable);
}

TEST(Gather, AListOfWhichMoreMayBeIsNamed) {
  const Material material = morning();
  Source source = source_of(material);
  const auto lists = [&](double from) {
    const Gathered gathered = gather_since(source, from, at(material.until_at)).value();
    std::string names;
    for (const ReportedCut& cut : gathered.material.cuts) names += cut.list() + " ";
    return names;
  };
  EXPECT_EQ(lists(at(material.from_at)), "");
  source.runs = [&](std::uint32_t limit) {
    RunList list;
    for (std::uint32_t i = 0; i < limit; ++i) *list.add_runs() = material.runs.front().run();
    return list;
  };
  source.events = [](double, std::uint32_t limit) {
    EventList list;
    for (std::uint32_t i = 0; i < limit; ++i) list.add_events();
    return list;
  };
  EXPECT_EQ(lists(at(material.from_at)), "runs events ");
  EXPECT_EQ(lists(at(material.until_at)), "events ") << "all runs of that time were read";
}

TEST(Gather, AMatrixThatIsMissingHasItsReason) {
  const Material material = morning();
  Source source = source_of(material);
  source.matrix = [](const std::string&, std::optional<std::int32_t>) -> Result<PairMatrix> {
    return fail(Code::kResourceExhausted, "too many figures");
  };
  const std::string run_id = material.runs.front().run().run_id();
  const Gathered gathered = gather_run(source, run_id, at(material.until_at)).value();
  EXPECT_FALSE(gathered.matrix);
  EXPECT_EQ(gathered.no_matrix, "run " + run_id + ": too many figures");
}

TEST(Gather, ThePictureIsOfTheWorstPartsRunAndRail) {
  Material material = morning();
  for (Finding& finding : material.findings)
    if (finding.kind() == "part") finding.set_kind("step");
  TaskGroups small = material.runs.front();
  small.mutable_run()->set_run_id("small");
  small.clear_groups();
  material.runs.insert(material.runs.begin(), small);
  const std::string large = material.runs.back().run().run_id();
  Source source = source_of(material);
  std::string drawn;
  source.matrix = [&](const std::string& run_id, std::optional<std::int32_t> rail) {
    drawn = run_id + (rail ? " rail " + std::to_string(*rail) : "");
    return Result<PairMatrix>(PairMatrix());
  };
  const double until = at(material.until_at);
  ASSERT_TRUE(gather_since(source, at(material.from_at), until));
  EXPECT_EQ(drawn, large) << "a small run by hand does not come first";
  for (const auto& [id, percent] :
       {std::pair{"a rail 1", 9.0}, std::pair{"b rail 3, sending", 30.0}}) {
    Finding& part = material.findings.emplace_back();
    part.set_finding_id(id);
    part.set_kind("part");
    part.set_state("confirmed");
    part.set_run_id(large);
    part.set_suspect(id);
    part.set_worse_percent(percent);
  }
  ASSERT_TRUE(gather_since(source, at(material.from_at), until));
  EXPECT_EQ(drawn, large + " rail 3");
}

TEST(Gather, AnUpgradeHasTheRunsOfBothSides) {
  const Material material = morning();
  const Source source = source_of(material);
  const Gathered gathered = gather_upgrade(source, "", at(material.until_at)).value();
  EXPECT_EQ(gathered.material.scope, "upgrade");
  EXPECT_THAT(gathered.material.upgrades, SizeIs(1));
  EXPECT_THAT(gathered.material.schedules, IsEmpty());
}

}  // namespace
}  // namespace railgauge::report
