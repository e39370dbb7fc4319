// The output of verbs on a terminal of 80 columns for 512 nodes with 8 rails and mixed faults: each
// fits a screen, and counts what it leaves out. RAILGAUGE_UPDATE_GOLDEN=1 writes the files.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/certificate/document.h"
#include "controller/cli/render/table.h"
#include "controller/cli/testing/commands_testing.h"
#include "controller/cli/testing/large_site.h"
#include "controller/cli/testing/samples.h"

namespace railgauge::cli {
namespace {

constexpr std::int64_t kLines = 60;
constexpr std::size_t kColumns = 80;

struct Screen80 {
  std::string name;
  std::vector<std::string> words;
  bool has_golden = true;  // false: what it prints has times or names of this host
};

const std::vector<Screen80>& screens() {
  static const std::vector<Screen80> all{
      {"nodes", {"nodes"}},
      {"nodes_show", {"nodes", "show", "gpu001"}},
      {"nodes_show_all", {"nodes", "show", "all"}},
      {"nodes_diff", {"nodes", "diff", "gpu001", "gpu401"}},
      {"topo", {"topo", "gpu001"}},
      {"topo_all", {"topo", "all"}},
      {"kernels", {"kernels"}},
      {"kernels_show", {"kernels", "show", "verbs.write_lat"}},
      {"suites", {"suites"}},
      {"suites_show", {"suites", "show", "broken"}},
      {"suites_check", {"suites", "check", "broken"}},
      {"suites_plan", {"suites", "plan", "nightly"}},
      {"run", {"run", "nightly", "--all"}},
      {"runs", {"runs", "--limit", "120"}},
      {"runs_show", {"runs", "show", kSampleRun}},
      {"runs_show_tasks", {"runs", "show", kSampleRun, "--tasks"}},
      {"runs_show_phases", {"runs", "show", kSampleRun, "--phases"}},
      {"runs_show_as", {"runs", "show", kSampleRun, "--as", "perftest"}},
      {"runs_wait", {"runs", "wait", kSampleRun}},
      {"runs_resume", {"runs", "resume", kSampleRun}},
      {"runs_compare", {"runs", "compare", "r-a", "r-b"}},
      {"runs_matrix", {"runs", "matrix", kSampleRun}},
      {"runs_suspects", {"runs", "suspects", kSampleRun}},
      {"results", {"results"}},
      {"history", {"history"}},
      {"history_series", {"history", "4711"}},
      {"db_stats", {"db", "stats", "--project", "1000"}},
      {"doctor", {"doctor"}, false},
      {"events", {"events"}},
      {"audit", {"audit"}},
      {"schedules", {"schedules"}},
      {"schedules_show", {"schedules", "show", "island-00"}},
      {"upgrades", {"upgrades"}},
      {"upgrades_prepare", {"upgrades", "prepare", "--nodes", "gpu[401-416]"}},
      {"upgrades_gate", {"upgrades", "gate", "--nodes", "gpu[401-416]"}},
      {"upgrades_extend", {"upgrades", "extend", "ur-20261126-030000-1"}},
      {"upgrades_show", {"upgrades", "show"}},
      {"findings", {"findings"}},
      {"findings_show", {"findings", "show", "step-gpu001-verbs.write_bw"}},
      {"findings_ack", {"findings", "ack", "step-gpu001-verbs.write_bw"}},
      {"findings_accept", {"findings", "accept", "step-gpu001-verbs.write_bw"}},
      {"findings_resolve", {"findings", "resolve", "step-gpu001-verbs.write_bw"}},
      {"findings_reopen", {"findings", "reopen", "step-gpu001-verbs.write_bw"}},
      {"baselines", {"baselines"}},
      {"baselines_pin", {"baselines", "pin"}},
      {"baselines_diff", {"baselines", "diff"}},
      {"analyze", {"analyze", "controller/cli/testdata/series.csv"}},
      {"preflight", {"preflight"}},
      {"preflight_summary", {"preflight", "--summary"}},
      {"preflight_explain", {"preflight", "--explain", "check_03"}},
      {"preflight_passed", {"preflight", "--passed"}},
      {"metrics", {"metrics"}},
      {"metrics_describe", {"metrics", "--describe"}},
      {"version", {"version"}}};
  return all;
}

// Verbs without a screen above, and why.
const std::map<std::string, std::string>& exempt() {
  static const std::map<std::string, std::string> all{
      {"export", "prints csv, json or ndjson, never a table"},
      {"sql", "whatever was asked for"},
      {"completion", "a script"},
      {"report", "a page of its own, with a test of its size"},
      {"demo", "a line at a time while it goes on"},
      {"bundle", "one line"},
      {"console", "one line"},
      {"findings assign", "the page of findings show"},
      {"findings nudge", "the page of findings show"},
      {"findings investigate", "the page of findings show"},
      {"findings downstream", "the page of findings show"},
      {"findings rerun", "the page of findings show"},
      {"findings reset", "the page of findings show"},
      {"findings tag", "the page of findings show"},
      {"findings note", "the page of findings show"},
      {"mcp", "lines of a protocol, for a program"},
      {"status", "a row a controller, as the drills of two see it"},
      {"clock", "one line"},
      {"nodes rename", "one line"},
      {"nodes pause", "a line for nodes that were paused alike"},
      {"nodes resume", "as nodes pause"},
      {"runs cancel", "one line"},
      {"db check", "one line"},
      {"db backup", "one line"},
      {"db restore", "the lines of railgauge-controller"},
      {"db prune", "one line"},
      {"schedules add", "one line"},
      {"schedules set", "one line"},
      {"schedules run-now", "one line"},
      {"certificate", "its page has a test below"},
      {"verify", "the page of certificate"},
      {"prove", "the page of certificate"},
      {"pki init", "a line a file"},
      {"pki issue", "a line a file, counted from many on"},
      {"pki renew", "as pki issue"},
      {"pki revoke", "a line or two"},
      {"pki crl", "a line or two"},
      {"pki show", "its list has a test below"},
      {"tokens", "a row for each token that somebody made"},
      {"tokens create", "one line"},
      {"tokens revoke", "one line"},
      {"config check", "reads this host's files; cut as every page"}};
  return all;
}

class LargeSite : public Commands {
 protected:
  void SetUp() override {
    fill_large_site(control_, archive_, judge_);
    Commands::SetUp();
    fold_tables_at(static_cast<int>(kColumns));
  }
  void TearDown() override {
    fold_tables_at(0);
    Commands::TearDown();
  }
};

class Screens : public LargeSite, public testing::WithParamInterface<Screen80> {};

std::size_t columns_of(const std::string& line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void expect_screen(const std::string& text) {
  EXPECT_LE(std::ranges::count(text, '\n'), kLines) << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), kColumns) << line;
}

TEST_P(Screens, FitA60By80TerminalWith512Nodes) {
  run(GetParam().words);
  expect_screen(out_);
  EXPECT_GT(out_.size(), 40U) << err_;
  if (GetParam().has_golden) expect_golden("screen_" + GetParam().name + ".txt", out_);
}

INSTANTIATE_TEST_SUITE_P(EveryTable, Screens, testing::ValuesIn(screens()),
                         [](const auto& each) { return each.param.name; });

TEST(ScreenList, EveryVerbHasAScreenOrAReasonForNone) {
  const Grammar all = grammar();
  std::set<std::string> shown;
  for (const Screen80& screen : screens()) {
    const auto arguments = parse_arguments(all, screen.words);
    ASSERT_TRUE(arguments) << screen.name;
    shown.insert(full_name(*arguments->verb));
  }
  for (const Verb& verb : all.verbs) {
    const std::string name = full_name(verb);
    EXPECT_NE(shown.contains(name), exempt().contains(name))
        << name << ": has no screen and no exemption, or both";
  }
  std::set<std::string> verbs;
  for (const Verb& verb : all.verbs) verbs.insert(full_name(verb));
  for (const auto& [name, reason] : exempt())
    EXPECT_TRUE(verbs.contains(name)) << name << " is no verb any more";
}

TEST_F(LargeSite, ListsThatAreCutCountWhatIsLeft) {
  run({"runs", "--limit", "120"});
  EXPECT_THAT(out_, testing::ContainsRegex("and [0-9]+ more; "));
  run({"results"});
  EXPECT_THAT(out_, testing::ContainsRegex("and [0-9]+ more lines; "));
}

TEST_F(LargeSite, ListsInAFileOrAPipeAreWhole) {
  fold_tables_at(0);
  run({"runs", "--limit", "120"});
  EXPECT_EQ(std::ranges::count(out_, '\n'), 121);
}

TEST_F(LargeSite, FullListsAreWholeOnATerminalToo) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"runs", "compare", "r-a", "r-b"}, {"results"}, {"metrics"}}) {
    run(words);
    EXPECT_THAT(out_, testing::HasSubstr("--full")) << words[0];
    std::vector<std::string> full = words;
    full.emplace_back("--full");
    run(full);
    EXPECT_GT(std::ranges::count(out_, '\n'), kLines) << words[0];
    EXPECT_THAT(out_, testing::Not(testing::HasSubstr("--full"))) << words[0];
  }
}

// Rows that say the same are one row with their number.
TEST_F(LargeSite, EqualRowsAreOneRow) {
  const api::Baseline first = judge_.baselines.baselines(0);
  judge_.baselines.clear_baselines();
  for (int i = 0; i < 200; ++i) *judge_.baselines.add_baselines() = first;
  run({"baselines"});
  EXPECT_LE(std::ranges::count(out_, '\n'), 10) << out_;
  EXPECT_THAT(out_, testing::ContainsRegex("COUNT"));
  EXPECT_THAT(out_, testing::ContainsRegex(" 200\n"));
}

TEST_F(LargeSite, ACertificateOfManySentencesFitsAScreen) {
  Certificate content;
  content.set_schema_version(1);
  content.set_kind("run");
  content.set_subject(kSampleRun);
  content.set_outcome("passed");
  for (int i = 0; i < 200; ++i)
    content.add_limits("limit " + std::to_string(i) +
                       ": what was measured says nothing about what was not measured then");
  const auto document = certificate::seal(content, "").value();
  judge_.certificate.set_schema_version(1);
  judge_.certificate.set_text(document.text.substr(0, document.text.size() - 1));
  EXPECT_EQ(run({"certificate", kSampleRun}), 0) << err_;
  expect_screen(out_);
  EXPECT_THAT(out_, testing::HasSubstr("and 194 more\n"));
}

TEST_F(LargeSite, TheCertificatesOfManyNodesFitAScreen) {
  std::string folder = (std::filesystem::temp_directory_path() / "rg_screens_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  EXPECT_EQ(run({"pki", "init", folder + "/pki"}), 0) << err_;
  EXPECT_EQ(run({"pki", "issue", folder + "/pki", "agent", "gpu[001-070]"}), 0) << err_;
  expect_screen(out_);
  EXPECT_EQ(run({"pki", "show", folder + "/pki"}), 0) << err_;
  expect_screen(out_);
  EXPECT_THAT(out_, testing::ContainsRegex("and [0-9]+ more; --full shows them"));
  std::filesystem::remove_all(folder);
}

TEST_F(LargeSite, ARunIsSummedUpInAPipeTooUnlessAllOfItIsAskedFor) {
  fold_tables_at(0);
  run({"runs", "wait", kSampleRun});
  EXPECT_LE(std::ranges::count(out_, '\n'), kLines) << out_;
  EXPECT_THAT(out_, testing::HasSubstr("8,000 points; railgauge results r-20261120-120000-1 "
                                       "--limit 8000 has them all\n"));
  run({"runs", "wait", kSampleRun, "--full"});
  EXPECT_GT(std::ranges::count(out_, '\n'), 8'000);
}

// The report takes as many points as a person's program can hold, and says so.
TEST_F(LargeSite, AReportWithoutAllPointsSaysIt) {
  control_.results.clear_points();
  while (control_.results.points_size() < 100'000) control_.results.add_points();
  run({"runs", "wait", kSampleRun});
  EXPECT_THAT(err_,
              testing::HasSubstr("only the newest 100,000 points are in this report; "
                                 "railgauge export r-20261120-120000-1 --format csv has all"));
}

}  // namespace
}  // namespace railgauge::cli
