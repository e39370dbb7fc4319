// The output of verbs on a terminal of 80 columns for 512 nodes with 8 rails and mixed faults: each
// fits a screen, and counts what it leaves out. RAILGAUGE_UPDATE_GOLDEN=1 writes the files.
#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
};

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

TEST_P(Screens, FitA60By80TerminalWith512Nodes) {
  run(GetParam().words);
  EXPECT_LE(std::ranges::count(out_, '\n'), kLines) << out_;
  std::istringstream lines(out_);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), kColumns) << line;
  EXPECT_GT(out_.size(), 40U) << err_;
  expect_golden("screen_" + GetParam().name + ".txt", out_);
}

INSTANTIATE_TEST_SUITE_P(
    EveryTable, Screens,
    testing::Values(
        Screen80{"nodes", {"nodes"}}, Screen80{"preflight", {"preflight"}},
        Screen80{"preflight_summary", {"preflight", "--summary"}},
        Screen80{"runs", {"runs", "--limit", "120"}}, Screen80{"run", {"run", "nightly", "--all"}},
        Screen80{"runs_wait", {"runs", "wait", kSampleRun}},
        Screen80{"runs_resume", {"runs", "resume", kSampleRun}},
        Screen80{"runs_show", {"runs", "show", kSampleRun}}, Screen80{"findings", {"findings"}},
        Screen80{"runs_suspects", {"runs", "suspects", kSampleRun}}, Screen80{"events", {"events"}},
        Screen80{"results", {"results"}}, Screen80{"history", {"history"}},
        Screen80{"history_series", {"history", "4711"}}, Screen80{"baselines", {"baselines"}},
        Screen80{"suites", {"suites"}}, Screen80{"schedules", {"schedules"}},
        Screen80{"upgrades", {"upgrades"}}, Screen80{"metrics", {"metrics"}},
        Screen80{"kernels", {"kernels"}}, Screen80{"audit", {"audit"}}),
    [](const auto& each) { return each.param.name; });

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
