#include "controller/console/views/report_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/report/site_report.h"

namespace railgauge::console {
namespace {

using testing::HasSubstr;

TEST(ReportPage, HasTheSectionsOfTheReportAndTheSameAsMarkdown) {
  report::Material material;
  material.from_at = "2026-11-28T00:00:00Z";
  material.until_at = "2026-11-29T00:00:00Z";
  material.is_synthetic = true;
  api::Finding finding;
  finding.set_finding_id("f-1");
  finding.set_state("new");
  finding.set_severity("high");
  finding.set_kind("regression");
  finding.set_summary("<b>slow</b>");
  finding.set_opened_at("2026-11-28T12:00:00Z");
  finding.set_changed_at("2026-11-28T12:00:00Z");
  material.findings.push_back(finding);
  const api::ReportPage page = page_of_report(report::make_report(material));
  EXPECT_EQ(page.verdict(), "regressed");
  EXPECT_EQ(page.mood(), "bad");
  EXPECT_THAT(page.headline(), HasSubstr("SYNTHETIC"));
  std::string all;
  for (const api::ReportSection& section : page.sections())
    for (const api::ReportEntry& entry : section.entries()) all += entry.head() + entry.text();
  EXPECT_THAT(all, HasSubstr("<b>slow</b>")) << "the page shows it as text";
  EXPECT_THAT(page.markdown(), HasSubstr("slow"));
}

}  // namespace
}  // namespace railgauge::console
