#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/render/heat_map.h"
#include "controller/cli/site/report_html.h"
#include "controller/cli/testing/commands_testing.h"
#include "controller/cli/testing/samples.h"
#include "controller/report/testing/morning.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Report : public Commands {};

TEST_F(Report, OfTheLastDayHasWhatTheServicesAnswer) {
  EXPECT_EQ(run({"report", "--since", "2026-11-20"}), kExitFailed) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("Railgauge report, 2026-11-20 00:00 UTC to "),
                          HasSubstr("regressed: SYNTHETIC: 1 of 3 tasks passed"),
                          HasSubstr("n3 rail 0 receives 25.0 %"), HasSubstr("watch_xid"),
                          HasSubstr("55.0 %"), HasSubstr("12 of 1204 figures measured twice")));
}

TEST_F(Report, OfARunLeavesOutWhatIsNotOfIt) {
  EXPECT_EQ(run({"report", kSampleRun}), kExitFailed) << err_;
  EXPECT_THAT(out_, HasSubstr(std::string("run-") + kSampleRun));
  EXPECT_THAT(out_, Not(HasSubstr("watch_xid")));
}

TEST_F(Report, OfAnUpgradeHasItsVerdict) {
  EXPECT_EQ(run({"report", "--upgrade", "ur-20261120-120000-1"}), kExitFailed) << err_;
  EXPECT_THAT(out_, HasSubstr("upgrade-ur-20261120-120000-1"));
}

TEST_F(Report, TakesOneScopeAndIsNoList) {
  EXPECT_EQ(run({"report", kSampleRun, "--since", "24h"}), kExitUsage);
  EXPECT_EQ(err_, "railgauge: report: one of RUN, --since and --upgrade is needed\n");
  EXPECT_EQ(run({"report"}, Format::kCsv), kExitUsage);
}

// The fake controller's clock is at 12:00 of that day, far from this host's.
TEST_F(Report, EndsAtTheControllersTime) {
  EXPECT_EQ(run({"report"}), kExitFailed) << err_;
  EXPECT_THAT(out_, HasSubstr("2026-11-19 12:00 UTC to 2026-11-20 12:00 UTC"));
}

TEST_F(Report, OnlyAPictureAsksForTheMatrix) {
  EXPECT_EQ(run({"report", kSampleRun}, Format::kJson), kExitFailed);
  EXPECT_EQ(archive_.matrices_asked, 0);
  EXPECT_EQ(run({"report", kSampleRun}, Format::kHtml), kExitFailed);
  EXPECT_EQ(archive_.matrices_asked, 1);
}

TEST_F(Report, IsOneDocumentInEachForm) {
  EXPECT_EQ(run({"report", kSampleRun}, Format::kJson), kExitFailed);
  EXPECT_THAT(out_, HasSubstr("\"report_id\": \"run-"));
  EXPECT_EQ(run({"report", kSampleRun}, Format::kMarkdown), kExitFailed);
  EXPECT_THAT(out_, HasSubstr("# Railgauge report"));
  EXPECT_EQ(run({"report", kSampleRun}, Format::kHtml), kExitFailed);
  EXPECT_THAT(out_, AllOf(HasSubstr("<!DOCTYPE html>"), HasSubstr("</svg>")));
}

std::string morning_html() {
  return report_html(report::page_of(report::make_report(report::morning()), 40),
                     heat_svg(grid_of(report::morning_matrix()), "verbs.write_bw, rail 3"));
}

TEST(ReportHtml, OfAMorningIsAsItsGoldenFile) { expect_golden("report.html", morning_html()); }

TEST(ReportHtml, NeedsNoOtherFileAndRunsNothing) {
  const std::string text = morning_html();
  for (const char* foreign : {"<script", "src=", "href=", "@import", "url(", "onload"})
    EXPECT_THAT(text, Not(HasSubstr(foreign)));
}

TEST(ReportHtml, NamesTheReasonOfAMissingPicture) {
  EXPECT_THAT(report_html(report::page_of(api::SiteReport()), "", "run r: too <many>"),
              HasSubstr("no picture: run r: too &lt;many&gt;"));
}

TEST(ReportHtml, EscapesTextsOfPeers) {
  api::SiteReport report;
  report.add_suspects()->set_sentence("<img onerror=\"x\"> & more");
  EXPECT_THAT(report_html(report::page_of(report), ""),
              HasSubstr("&lt;img onerror=&quot;x&quot;&gt; &amp; more"));
}

}  // namespace
}  // namespace railgauge::cli
