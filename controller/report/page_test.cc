#include "controller/report/page.h"

#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/report/next_steps.h"

namespace railgauge::report {
namespace {

using namespace railgauge::api;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

ReportedFinding& add_finding(SiteReport& report, const std::string& id, const std::string& event,
                             const std::string& change) {
  ReportedFinding& finding = *report.add_findings();
  finding.set_finding_id(id);
  finding.set_event_id(event);
  finding.set_change(change);
  finding.set_kind("step");
  finding.set_part(id);
  finding.set_summary(id + " is slow");
  finding.set_opened_at("2026-11-26T02:15:00.000Z");
  return finding;
}

const Section& section_of(const Page& page, const std::string& title) {
  for (const Section& section : page.sections)
    if (section.title == title) return section;
  static const Section kNone{};
  return kNone;
}

TEST(Page, FindingsOfOneEventAreOneEntry) {
  SiteReport report;
  add_finding(report, "n1", "n1", "confirmed").set_worse_percent(3);
  add_finding(report, "n2", "n1", "new").set_worse_percent(9);
  add_finding(report, "n3", "n1", "open").set_since_at("2026-11-24T02:00:00.000Z");
  add_finding(report, "n4", "n4", "new");
  const Section section = section_of(page_of(report), "Findings");
  ASSERT_THAT(section.entries, SizeIs(2));
  EXPECT_EQ(section.entries[0].mark, "confirmed");
  EXPECT_EQ(section.entries[0].head, "n[1-3], 9.0 % worse, since 2026-11-24 02:00 UTC");
  EXPECT_EQ(section.entries[0].text, "step: n[1-3] is slow (n1 and 2 more)");
  EXPECT_EQ(section.entries[1].text, "step: n4 is slow (n4)");
  EXPECT_EQ(section.summary, "2 new, 0 worse, 1 confirmed, 0 fixed, 1 still open (2 events)");
}

TEST(Page, WhatIsFixedIsNoPartOfAnOpenEvent) {
  SiteReport report;
  add_finding(report, "n1", "n1", "open");
  add_finding(report, "n2", "n1", "fixed");
  EXPECT_THAT(section_of(page_of(report), "Findings").entries, SizeIs(2));
}

TEST(Page, AShareOfOneIsNoBound) {
  SiteReport report;
  ReportedCoverage& coverage = *report.add_coverage();
  coverage.set_noise_share(0.012);
  coverage.set_run_id("r1");
  EXPECT_THAT(page_text(page_of(report)), HasSubstr("below 1.2 % is within the noise (run r1)"));
  coverage.set_noise_share(1);
  EXPECT_THAT(page_text(page_of(report)),
              AllOf(HasSubstr("too few figures"), Not(HasSubstr("100"))));
}

TEST(Page, LostNodesComeBeforeBusyOnes) {
  SiteReport report;
  for (const char* state : {"busy", "lost"}) {
    ReportedNodes& nodes = *report.add_nodes();
    nodes.set_state(state);
    nodes.set_count(1);
  }
  const Section section = section_of(page_of(report, 1), "Missed or left out");
  ASSERT_THAT(section.entries, SizeIs(1));
  EXPECT_EQ(section.entries[0].mark, "lost");
  EXPECT_EQ(section.left, 1U);
}

TEST(Page, CountsWhatItLeavesOut) {
  SiteReport report;
  for (int i = 0; i < 9; ++i) report.add_suspects()->set_name("x");
  for (std::size_t i = 0; i < kMostUrgentSteps + 3; ++i) report.add_next("step");
  const std::string text = page_text(page_of(report, 4));
  EXPECT_THAT(text, HasSubstr("and 5 more"));
  EXPECT_EQ(page_of(report, 4).next_left, 3U) << "all urgent steps are there";
}

TEST(Page, TheTenthStepIsNoWiderThanTheNinth) {
  SiteReport report;
  for (int i = 0; i < 12; ++i) {
    std::string step = std::to_string(i);
    for (int word = 0; word < 40; ++word) step += word % 2 == 0 ? " aa" : " bbbb";
    report.add_next(step);
  }
  std::istringstream text(page_text(page_of(report)));
  for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Page, TextOfPeersSteersNoTerminalAndNoMarkdown) {
  SiteReport report;
  report.add_suspects()->set_sentence("\x1b[31m*bold* [link](http://x) <b>\nnew line");
  const std::string text = page_text(page_of(report));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const std::string markdown = page_markdown(page_of(report));
  EXPECT_THAT(markdown, HasSubstr("\\*bold\\* \\[link\\]"));
  EXPECT_THAT(markdown, HasSubstr("\\<b\\>"));
}

}  // namespace
}  // namespace railgauge::report
