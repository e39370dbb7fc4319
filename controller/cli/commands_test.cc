// Every verb's output in every format against a golden file; RAILGAUGE_UPDATE_GOLDEN=1 writes them.
#include "controller/cli/verbs/commands.h"

#include <algorithm>
#include <locale>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/render/table.h"
#include "controller/cli/testing/commands_testing.h"
#include "controller/cli/testing/samples.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct GoldenCase {
  std::string name;
  std::vector<std::string> words;
  int code = 0;
};

std::vector<GoldenCase> golden_cases() {
  return {{"nodes", {"nodes"}},
          {"nodes_show", {"node", "show", "n1"}},
          {"nodes_diff", {"nodes", "diff", "n1", "n2"}},
          {"topo", {"topo", "n1"}},
          {"kernels", {"kernels"}},
          {"kernels_show", {"kernels", "show", "verbs.write_lat"}},
          {"suites", {"suites"}},
          {"suites_show", {"suites", "show", "broken"}},
          {"nodes_rename", {"nodes", "rename", "n1", "m1"}},
          {"nodes_pause", {"nodes", "pause", "n1", "--for", "1h", "--reason", "DIMM swap"}},
          {"nodes_resume", {"nodes", "resume", "n1"}},
          {"suites_check", {"suites", "check", "broken"}, kExitUsage},
          {"suites_plan", {"suites", "plan", "quick"}},
          {"runs", {"runs"}},
          {"runs_show", {"runs", "show", kSampleRun, "--phases"}},
          {"runs_show_groups", {"runs", "show", kSampleRun}},
          {"runs_show_as", {"runs", "show", kSampleRun, "--as", "perftest"}},
          {"runs_cancel", {"runs", "cancel", kSampleRun}},
          {"run", {"run", "quick"}},
          {"runs_resume", {"runs", "resume", kSampleRun}},
          {"run_detach", {"run", "quick", "--detach"}},
          {"results", {"results"}},
          {"history", {"history"}},
          {"history_series", {"history", "4711"}},
          {"runs_compare", {"runs", "compare", "r-a", "r-b"}},
          {"runs_matrix", {"runs", "matrix", kSampleRun}},
          {"runs_matrix_merged", {"runs", "matrix", kSampleRun, "--runs", "7"}},
          {"runs_suspects", {"runs", "suspects", kSampleRun}, kExitFailed},
          {"sql", {"sql", "SELECT 1"}},
          {"db_stats", {"db", "stats", "--project", "1000"}},
          {"db_check", {"db", "check"}},
          {"db_backup", {"db", "backup", "/backup/railgauge.db"}},
          {"db_prune", {"db", "prune", "--raw-days", "1"}},
          {"events", {"events"}},
          {"audit", {"audit"}},
          {"audit_refused", {"audit", "--refused", "--who", "bob", "--since", "2026-11-20"}},
          {"tokens", {"tokens"}},
          {"tokens_create", {"tokens", "create", "--nodes", "gpu[001-064]", "--uses", "64"}},
          {"tokens_revoke", {"tokens", "revoke", "5e6f7a8b"}},
          {"schedules", {"schedules"}},
          {"schedules_show", {"schedules", "show", "nightly"}},
          {"schedules_set", {"schedules", "set", "nightly", "paused"}},
          {"preflight", {"preflight"}, kExitFailed},
          {"preflight_summary", {"preflight", "--summary"}, kExitFailed},
          {"preflight_explain", {"preflight", "--explain", "acs"}, kExitFailed},
          {"upgrades", {"upgrades"}},
          {"upgrades_prepare", {"upgrades", "prepare", "--nodes", "n1,n2"}},
          {"upgrades_gate", {"upgrades", "gate", "--nodes", "n1,n2"}, kExitFailed},
          {"upgrades_show", {"upgrades", "show"}},
          {"findings", {"findings"}},
          {"findings_show", {"findings", "show", "ur-20261120-120000-1-performance"}},
          {"findings_ack", {"findings", "ack", "ur-20261120-120000-1-performance"}},
          {"baselines", {"baselines"}},
          {"baselines_diff", {"baselines", "diff"}},
          {"analyze", {"analyze", "controller/cli/testdata/series.csv"}},
          {"metrics_describe", {"metrics", "--describe"}},
          {"version", {"version"}}};
}

class Golden : public Commands, public testing::WithParamInterface<GoldenCase> {
 protected:
  void expect_all_formats() {
    const auto& [name, words, code] = GetParam();
    for (const auto& [format, ending] :
         {std::pair{Format::kTable, ".txt"}, std::pair{Format::kJson, ".json"},
          std::pair{Format::kCsv, ".csv"}, std::pair{Format::kNdjson, ".ndjson"}}) {
      EXPECT_EQ(run(words, format), code) << err_;
      expect_golden(name + ending, out_);
    }
  }
};

TEST(CommandPage, IsRenderedFromTheGrammar) {
  expect_file("deploy/docs/reference/cli.md", command_page(grammar()));
}

TEST_P(Golden, OutputIsAsTheGoldenFileSays) { expect_all_formats(); }

// A locale as in Germany, made here because a test machine may have none installed.
class CommaDecimal : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_P(Golden, OutputDoesNotDependOnTheLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new CommaDecimal));
  expect_all_formats();
  std::locale::global(before);
}

INSTANTIATE_TEST_SUITE_P(EveryVerb, Golden, testing::ValuesIn(golden_cases()),
                         [](const auto& each) { return each.param.name; });

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    widest = std::max(widest, static_cast<std::size_t>(std::ranges::count_if(line, [](char c) {
                        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                      })));
  return widest;
}

TEST_F(Commands, WhatRanTooLongInTheControllerIsToldInItsWords) {
  EXPECT_EQ(run({"sql", "endless"}), kExitInvalid);
  EXPECT_EQ(err_, "railgauge: sql: it ran longer than 10 s\n");
}

TEST_F(Commands, OnATerminalOf60ColumnsTablesAreFoldedAndLoseNothing) {
  for (const auto& [name, words] :
       {std::pair{"nodes", std::vector<std::string>{"nodes"}},
        std::pair{"runs", std::vector<std::string>{"runs"}},
        std::pair{"results", std::vector<std::string>{"results", "--units", "bits"}},
        std::pair{"schedules", std::vector<std::string>{"schedules"}},
        std::pair{"topo", std::vector<std::string>{"topo", "n1"}}}) {
    run(words);
    std::multiset<std::string> wide;
    std::istringstream cells(out_);
    for (std::string word; cells >> word;) wide.insert(word);
    fold_tables_at(60);
    run(words);
    fold_tables_at(0);
    std::multiset<std::string> folded;
    std::istringstream folded_cells(out_);
    for (std::string word; folded_cells >> word;) folded.insert(word);
    EXPECT_EQ(folded, wide) << name;
    expect_golden(std::string("narrow_") + name + ".txt", out_);
  }
  fold_tables_at(60);
  run({"nodes"});
  fold_tables_at(0);
  EXPECT_LT(widest_line(out_), 60U) << out_;
}

TEST_F(Commands, MetricsAreALineEachUnlessTheyAreToBeDescribed) {
  EXPECT_EQ(run({"metrics"}), 0);
  EXPECT_THAT(out_, HasSubstr("railgauge_run_active"));
  EXPECT_THAT(out_, HasSubstr("METRIC"));
  EXPECT_THAT(out_, Not(HasSubstr("at most 1\n")));
}

TEST_F(Commands, ColourChangesNothingButEscapes) {
  run({"results"}, Format::kTable, true);
  const std::string coloured = out_;
  EXPECT_THAT(coloured, HasSubstr("\x1b[1m"));
  run({"results"});
  EXPECT_THAT(out_, Not(HasSubstr("\x1b")));
  std::string stripped;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\x1b')
      i = coloured.find('m', i);
    else
      stripped += coloured[i];
  }
  EXPECT_EQ(stripped, out_);
}

TEST_F(Commands, UnitsChooseBitsOrBytes) {
  units_ = Units::kBits;
  run({"results"});
  EXPECT_THAT(out_, HasSubstr("97.00"));
  EXPECT_THAT(out_, Not(HasSubstr("GB/s")));
  units_ = Units::kBytes;
  run({"results"});
  EXPECT_THAT(out_, HasSubstr("12.12"));
  EXPECT_THAT(out_, Not(HasSubstr("Gb/s")));
}

TEST_F(Commands, TextOfANodeCannotSteerTheTerminal) {
  control_.nodes.mutable_nodes(0)->set_version("1\x1b[2J\n2");
  run({"nodes"});
  EXPECT_THAT(out_, Not(HasSubstr("\x1b")));
  EXPECT_THAT(out_, HasSubstr(R"(1\x1b[2J\n2)"));
}

// ESC, CR, NEL, C1's CSI and a turn of direction, in names that peers chose.
TEST_F(Commands, NoFormatOfAnyListPassesOnWhatSteersATerminal) {
  const std::string hostile = "\x1b[2J\rfake\nfake\u0085\u009b31m\u202e";
  for (api::NodeInfo& node : *control_.nodes.mutable_nodes()) {
    node.set_version(hostile);
    (*node.mutable_facts())["gpu0.cpus" + hostile] = hostile;
    for (api::Gpu& gpu : *node.mutable_gpus()) {
      gpu.set_model(hostile);
      gpu.set_name("gpu" + hostile);
    }
    for (api::Nic& nic : *node.mutable_nics()) nic.set_device("mlx5" + hostile);
  }
  const std::string first = control_.nodes.nodes(0).name();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"nodes"}, {"nodes", "show", first}, {"topo", first}})
    for (const Format format : {Format::kTable, Format::kJson, Format::kCsv, Format::kNdjson}) {
      run(words, format);
      EXPECT_THAT(out_, HasSubstr("fake")) << words.front();
      for (const char* text : {"\x1b", "\r", "\u0085", "\u009b", "\u202e"})
        EXPECT_THAT(out_ + err_, Not(HasSubstr(text))) << words.front();
      for (const std::string_view line : split_lines(out_))
        EXPECT_FALSE(line.starts_with("fake")) << "a forged line of " << words.front();
    }
}

TEST_F(Commands, ExportPrintsOneDocumentOverManyPages) {
  for (const auto& [format, ending] :
       {std::pair{Format::kJson, ".json"}, std::pair{Format::kCsv, ".csv"},
        std::pair{Format::kNdjson, ".ndjson"}}) {
    EXPECT_EQ(run({"export", "all", "--since", "2026-11-20"}, format), kExitPassed) << err_;
    expect_golden(std::string("export") + ending, out_);
  }
  EXPECT_EQ(archive_.last_points().since_unix_seconds(), 1'795'132'800);
  EXPECT_EQ(run({"export"}), kExitUsage) << "a table is for a screen";
  archive_.results.clear_points();
  EXPECT_EQ(run({"export", "all"}, Format::kJson), kExitPassed);
  EXPECT_THAT(out_, HasSubstr("\"points\": []"));
}

TEST_F(Commands, EveryFilterOfStoredPointsIsPassedOn) {
  run({"results", "--endpoint", "mlx5_0:1", "--rail", "3", "--stack", "gpu_driver=550", "--series",
       "47", "--until", "2026-11-20T12:00:00Z", "--all-attempts"});
  const auto request = archive_.last_points();
  EXPECT_EQ(request.endpoint(), "mlx5_0:1");
  EXPECT_EQ(request.rail(), 3);
  EXPECT_EQ(request.stack(), "gpu_driver=550");
  EXPECT_EQ(request.series_id(), 47U);
  EXPECT_EQ(request.until_unix_seconds(), 1'795'176'000);
  EXPECT_TRUE(request.all_attempts());
  EXPECT_EQ(run({"results", "--since", "yesterday"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--since: \"yesterday\" is no time: 24h (ago)"));
  EXPECT_EQ(run({"history", "latency"}), kExitUsage);
}

TEST_F(Commands, AnUnsoundDatabaseFails) {
  archive_.check.set_sound(false);
  archive_.check.add_problems("row 7 missing from index point_by_series");
  EXPECT_EQ(run({"db", "check"}), kExitFailed);
  EXPECT_THAT(err_, HasSubstr("row 7 missing"));
}

TEST_F(Commands, ResultsPassTheFiltersOn) {
  run({"results", "all", "--kernel", "verbs.write_bw", "--size=64KiB", "--nodes", "n[1-2]",
       "--metric", "latency_ns", "--limit", "7"});
  const auto request = archive_.last_points();
  EXPECT_EQ(request.run_id(), "all");
  EXPECT_EQ(request.kernel(), "verbs.write_bw");
  EXPECT_EQ(request.message_bytes(), 65536);
  EXPECT_EQ(request.node_set(), "n[1-2]");
  EXPECT_EQ(request.metric(), "latency_ns");
  EXPECT_EQ(request.limit(), 7U);
}

TEST_F(Commands, LabelsFollowTheNodeSetOfEveryVerb) {
  run({"results", "all", "--nodes", "n[1-2]", "-l", "Rack=r7,pod=p1"});
  EXPECT_EQ(archive_.last_points().node_set(), "n[1-2]&pod=p1,rack=r7");
  run({"run", "quick", "--labels", "rack=r7"});
  EXPECT_EQ(control_.last_request().node_set(), "&rack=r7");
  run({"preflight", "n1", "-l", "rack=r7"});
  EXPECT_EQ(control_.last_preflight().node_set(), "n1&rack=r7");
  EXPECT_EQ(run({"run", "quick", "-l", "rack"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("-l: label \"rack\": must be KEY=VALUE"));
}

TEST_F(Commands, APauseIsAskedForAsItWasGiven) {
  run({"nodes", "pause", "-l", "rack=r7", "--until", "2026-11-28T08:00:00Z", "--reason", "DIMM"});
  EXPECT_EQ(control_.last_pause().node_set(), "&rack=r7");
  EXPECT_EQ(control_.last_pause().until_unix_seconds(), 1795852800);
  EXPECT_FALSE(control_.last_pause().has_for_seconds());
  run({"nodes", "pause", "n1", "--for", "90min", "--reason", "DIMM"});
  EXPECT_EQ(control_.last_pause().for_seconds(), 5400);
  EXPECT_FALSE(control_.last_pause().has_until_unix_seconds());
  EXPECT_EQ(run({"nodes", "pause", "n1", "--until", "2h", "--reason", "DIMM"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--until: \"2h\": must be a time as 2026-11-28T08:00:00Z"));
}

TEST_F(Commands, ResultsSayWhenTheLimitCutThem) {
  run({"results", "--limit", "5"});
  EXPECT_THAT(err_, HasSubstr("only the first 5 points"));
}

TEST_F(Commands, QuietLeavesResultsAndErrorsAlone) {
  EXPECT_EQ(run({"run", "quick", "--quiet"}), kExitPassed);
  EXPECT_EQ(err_, "");
  EXPECT_THAT(out_, HasSubstr("passed: 2 of 2 tasks ended"));
  EXPECT_EQ(run({"nodes", "show", "n9", "--quiet"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("n9"));
  run({"results", "--limit", "5", "--quiet"});
  EXPECT_THAT(err_, HasSubstr("only the first 5 points")) << "it limits the result";
  archive_.results.clear_points();
  run({"results", "--quiet"});
  EXPECT_EQ(err_, "");
}

TEST_F(Commands, AFigureThatNobodyMeasuresGetsTheNearestName) {
  archive_.results.clear_points();
  EXPECT_EQ(run({"results", "--metric", "latncy_ns"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--metric: \"latncy_ns\": no kernel of an attached node has that "
                              "name, and no such point is stored; did you mean \"latency_ns\"?"));
  EXPECT_EQ(run({"results", "--kernel", "verbs.wite_lat"}, Format::kJson), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("did you mean \"verbs.write_lat\"?"));
  EXPECT_EQ(run({"results", "--metric", "latency_ns"}), kExitPassed) << "known, and not measured";
  archive_.series.clear_series();
  EXPECT_EQ(run({"history", "--metric", "latncy_ns"}), kExitUsage);
}

TEST_F(Commands, APlaceThatNoNodeHasGetsTheNearestName) {
  archive_.results.clear_points();
  EXPECT_EQ(run({"results", "--endpoint", "mlx5_0:2"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--endpoint: \"mlx5_0:2\": no node has it, and no such point is "
                              "stored; did you mean \"mlx5_0:1\"?"));
  EXPECT_EQ(run({"results", "--stack", "linux_kernl=6.1"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--stack: \"linux_kernl\": no node reports that part of its stack"));
  EXPECT_THAT(err_, HasSubstr("did you mean \"linux_kernel\"?"));
  EXPECT_EQ(run({"results", "--endpoint", "mlx5_0:1", "--stack", "linux_kernel=1"}), kExitPassed);
  EXPECT_EQ(run({"results", "--endpoint", "n1/mlx5_0:1"}), kExitPassed);
  EXPECT_EQ(archive_.last_points().endpoint(), "mlx5_0:1");
  EXPECT_EQ(archive_.last_points().node_set(), "n1");
  EXPECT_EQ(run({"results", "--endpoint", "n1/mlx5_0:1", "--nodes", "n2"}), kExitUsage);
}

TEST_F(Commands, ARunOrACallThatThereIsNotGetsTheNearestName) {
  archive_.events.clear_events();
  EXPECT_EQ(run({"events", "--run", "r-20261120-120000-2"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--run: there is no run \"r-20261120-120000-2\"; did you mean \"" +
                              std::string(kSampleRun) + "\"?"));
  EXPECT_EQ(run({"events", "--run", kSampleRun}), kExitPassed) << "nothing happened in it";
  EXPECT_EQ(run({"audit", "--rpc", "StartRn"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--rpc: there is no call \"StartRn\"; did you mean \"StartRun\"?"));
  EXPECT_EQ(run({"audit", "--rpc", "GetRun"}), kExitPassed) << "known, and nobody called it";
  EXPECT_EQ(run({"audit", "--who", "anne"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--who: no row is of \"anne\"; did you mean \"ann\"?"));
}

TEST_F(Commands, AKindOfEventThatThereIsNotGetsTheNearestOne) {
  archive_.events.clear_events();
  archive_.events.add_kinds("watch_xid");
  archive_.events.add_kinds("stack_changed");
  EXPECT_EQ(run({"events", "--kind", "stck"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--kind: no event is of kind \"stck\"; did you mean \"stack\"?"));
  EXPECT_EQ(run({"events", "--kind", "xid"}), kExitPassed);
}

TEST_F(Commands, AnUnknownNodeIsWrongUse) {
  EXPECT_EQ(run({"nodes", "show", "n9"}, Format::kJson), kExitUsage);
  EXPECT_THAT(out_, HasSubstr("\"code\": \"not_found\""));
  EXPECT_THAT(err_, StartsWith("railgauge: node n9: the controller does not know it"));
}

TEST_F(Commands, ASoundSuiteWhoseKernelsNobodyToldIsInconclusive) {
  control_.check.clear_problems();
  control_.check.set_ok(true);
  EXPECT_EQ(run({"suites", "check", "quick"}), kExitPassed);
  control_.check.set_kernels_checked(false);
  EXPECT_EQ(run({"suites", "check", "quick"}), kExitInconclusive);
  EXPECT_THAT(err_, HasSubstr("were not checked"));
}

TEST_F(Commands, AScheduleIsAddedAsItWasGiven) {
  EXPECT_EQ(
      run({"schedules",     "add",        "nightly",    "fabric",        "--nodes",    "gpu[1-4]",
           "--cron",        "30 1 * * *", "--zone",     "Europe/Berlin", "--jitter",   "15min",
           "--catch-up",    "6h",         "--window",   "sat,sun",       "--blackout", "2026-12-24",
           "--concurrency", "queue",      "--exclusive"}),
      kExitPassed)
      << err_;
  const auto spec = control_.last_schedule();
  EXPECT_EQ(spec.name(), "nightly");
  EXPECT_EQ(spec.suite(), "fabric");
  EXPECT_EQ(spec.node_set(), "gpu[1-4]");
  EXPECT_EQ(spec.cron(), "30 1 * * *");
  EXPECT_EQ(spec.zone(), "Europe/Berlin");
  EXPECT_EQ(spec.jitter_seconds(), 900);
  EXPECT_EQ(spec.catch_up_seconds(), 21600);
  EXPECT_EQ(spec.windows(), "sat,sun");
  EXPECT_EQ(spec.blackouts(), "2026-12-24");
  EXPECT_EQ(spec.concurrency(), "queue");
  EXPECT_TRUE(spec.exclusive());
  EXPECT_FALSE(spec.paused());
  EXPECT_EQ(out_, "schedule nightly added, next at 2026-11-21T00:34:12Z\n");
  EXPECT_EQ(run({"schedules", "add", "nightly", "fabric"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("needs --cron"));
}

TEST_F(Commands, SchedulesAreResumedStartedAndRemovedByName) {
  EXPECT_EQ(run({"schedule", "set", "nightly", "active"}), kExitPassed) << err_;
  EXPECT_EQ(control_.last_change(), "resume nightly");
  EXPECT_EQ(run({"schedules", "run-now", "nightly"}), kExitPassed) << err_;
  EXPECT_EQ(control_.last_change(), "run-now nightly");
  EXPECT_EQ(out_, std::string(kSampleRun) + "\n");
  EXPECT_EQ(run({"schedules", "set", "nightly", "removed"}), kExitPassed) << err_;
  EXPECT_EQ(out_, "schedule nightly removed\n");
  EXPECT_EQ(run({"schedules", "set", "nightly", "pause"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("is none of active, paused, removed; did you mean \"paused\"?"));
}

}  // namespace
}  // namespace railgauge::cli
