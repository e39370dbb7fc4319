#include "controller/api/preflight.h"

#include <gtest/gtest.h>

namespace railgauge::api {
namespace {

PreflightReport report_of(std::initializer_list<std::pair<const char*, const char*>> checks) {
  PreflightReport report;
  report.add_nodes()->set_node("n1");
  for (const auto& [id, state] : checks) {
    PreflightCheck& check = *report.add_checks();
    check.set_node("n1");
    check.set_id(id);
    check.set_state(state);
  }
  return report;
}

int code_of(const PreflightReport& report, std::vector<std::string> require = {},
            bool strict = false) {
  return preflight_exit_code(report, {.require = std::move(require), .strict = strict});
}

TEST(PreflightExitCode, PassWarnAndWaivedAreZero) {
  EXPECT_EQ(code_of(report_of({{"acs", "pass"}, {"iommu", "warn"}, {"xid", "waived"}})), 0);
}

TEST(PreflightExitCode, AFailureIsOneWhateverElseThereIs) {
  EXPECT_EQ(code_of(report_of({{"acs", "error"}, {"iommu", "fail"}, {"xid", "unknown"}}), {"xid"}),
            1);
}

TEST(PreflightExitCode, AnErrorIsFour) { EXPECT_EQ(code_of(report_of({{"acs", "error"}})), 4); }

TEST(PreflightExitCode, UnknownCountsOnlyWhereItIsRequiredOrStrict) {
  const PreflightReport report = report_of({{"acs", "unknown"}, {"iommu", "pass"}});
  EXPECT_EQ(code_of(report), 0);
  EXPECT_EQ(code_of(report, {"iommu"}), 0);
  EXPECT_EQ(code_of(report, {"acs"}), 3);
  EXPECT_EQ(code_of(report, {}, true), 3);
}

TEST(PreflightExitCode, ARequiredCheckWithoutAResultIsFour) {
  EXPECT_EQ(code_of(report_of({{"acs", "pass"}}), {"iommu"}), 4);
}

TEST(PreflightExitCode, ANodeThatGaveNoAnswerIsFour) {
  PreflightReport report = report_of({{"acs", "pass"}});
  PreflightNode& silent = *report.add_nodes();
  silent.set_node("n2");
  silent.set_error("not attached");
  EXPECT_EQ(code_of(report), 4);
}

TEST(PreflightExitCode, NoNodeAtAllIsFour) { EXPECT_EQ(code_of({}), 4); }

TEST(PreflightExitCode, AStateThatIsNoneIsFour) {
  EXPECT_EQ(code_of(report_of({{"acs", "fine"}})), 4);
}

TEST(WorstCheckState, IsTheWorstOfThatNode) {
  PreflightReport report = report_of({{"acs", "pass"}, {"iommu", "unknown"}, {"xid", "warn"}});
  EXPECT_EQ(worst_check_state(report, "n1"), "unknown");
  EXPECT_EQ(worst_check_state(report, "n2"), "unknown");
  EXPECT_EQ(worst_check_state(report_of({{"acs", "waived"}, {"xid", "pass"}}), "n1"), "pass");
}

TEST(StateCounts, NameWhatOccursTheWorstFirst) {
  const PreflightReport report = report_of({{"a", "pass"}, {"b", "fail"}, {"c", "pass"}});
  EXPECT_EQ(state_counts_text(report, "n1"), "1 fail, 2 pass");
  EXPECT_EQ(state_counts_text(report, "n2"), "no checks");
}

TEST(RemediesText, EqualRemediesStandOnceWithAllTheirPlaces) {
  PreflightReport report = report_of({{"acs", "fail"}, {"acs", "fail"}, {"xid", "unknown"}});
  report.mutable_checks(0)->set_subject("gpu0+mlx5_0");
  report.mutable_checks(1)->set_subject("gpu1+mlx5_1");
  for (PreflightCheck& check : *report.mutable_checks()) {
    check.set_why("it matters");
    check.add_remedy("do this");
  }
  EXPECT_EQ(remedies_text(report),
            "acs fail: it matters\n  on n1 gpu0+mlx5_0,n1 gpu1+mlx5_1\n    do this\n");
  EXPECT_NE(remedies_text(report, true), remedies_text(report));
  EXPECT_EQ(remedies_text(report_of({{"acs", "pass"}})), "");
}

TEST(RemediesText, OfOneCheckWithManyFormsShowTheFirst) {
  PreflightReport report = report_of({{"acs", "fail"}, {"acs", "fail"}, {"acs", "fail"}});
  for (int i = 0; i < 3; ++i) {
    report.mutable_checks(i)->set_why("it matters");
    report.mutable_checks(i)->add_remedy(std::string("setpci ") + static_cast<char>('a' + i));
  }
  EXPECT_EQ(remedies_text(report),
            "acs fail: it matters\n  on n1\n    setpci a\n    likewise 2 others: --explain acs has "
            "their lines\n");
  EXPECT_NE(remedies_text(report, true).find("setpci c"), std::string::npos);
}

TEST(GpuDirectText, SaysByWhatOrWhyNotAndWhatToDo) {
  GpuDirectPair pair;
  pair.set_answer("yes");
  pair.set_path("dma-buf");
  EXPECT_EQ(gpudirect_text(pair), "GPUDirect: yes, by dma-buf");
  pair.set_answer("no");
  pair.set_because("nvidia-peermem is not loaded");
  pair.add_remedy("modprobe nvidia-peermem");
  EXPECT_EQ(gpudirect_text(pair),
            "GPUDirect: no, because nvidia-peermem is not loaded, do: modprobe nvidia-peermem");
  pair.set_answer("unknown");
  pair.clear_remedy();
  pair.set_because("gpu0 is busy");
  EXPECT_EQ(gpudirect_text(pair), "GPUDirect: not proven, because gpu0 is busy");
}

}  // namespace
}  // namespace railgauge::api
