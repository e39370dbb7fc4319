// The mark of synthetic data in the output of each verb, in each format, and none of real data. The
// verbs are the grammar's rows: a new one fails here until it has a line, and is marked by itself.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/certificate/document.h"
#include "controller/cli/render/table.h"
#include "controller/cli/testing/commands_testing.h"
#include "controller/cli/testing/samples.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kMarkLine = "SYNTHETIC: this controller's data is of a modelled site";
constexpr std::string_view kAllFormats = "table json ndjson csv";

// One use of a verb against the fake controller.
struct MarkedUse {
  std::vector<std::string> words;
  std::string_view formats = kAllFormats;  // those that carry the mark
  bool has_value = false;                  // of which the table is one value: the mark is on stderr
};

// A certificate is signed text, which says by itself what it is of.
const std::map<std::string, MarkedUse>& marked_uses() {
  const std::string finding = "ur-20261120-120000-1-performance";
  static const std::map<std::string, MarkedUse> all{
      {"report", {{"report", "--since", "2026-11-20"}, "json ndjson"}},
      {"findings", {{"findings"}}},
      {"findings show", {{"findings", "show", finding}}},
      {"findings ack", {{"findings", "ack", finding}}},
      {"findings accept", {{"findings", "accept", finding}}},
      {"findings resolve", {{"findings", "resolve", finding}}},
      {"findings reopen", {{"findings", "reopen", finding}}},
      {"findings assign", {{"findings", "assign", finding}}},
      {"findings nudge", {{"findings", "nudge", finding, "--later", "1"}}},
      {"findings investigate", {{"findings", "investigate", finding}}},
      {"findings downstream", {{"findings", "downstream", finding, "--of", "part-n1"}}},
      {"findings rerun", {{"findings", "rerun", finding}}},
      {"findings reset", {{"findings", "reset", finding}}},
      {"findings tag", {{"findings", "tag", finding, "--add", "cable"}}},
      {"findings note", {{"findings", "note", finding, "--note", "ordered"}}},
      {"events", {{"events"}}},
      {"nodes", {{"nodes"}}},
      {"nodes show", {{"nodes", "show", "n1"}}},
      {"nodes diff", {{"nodes", "diff", "n1", "n2"}}},
      {"nodes pause", {{"nodes", "pause", "n1", "--for", "1h", "--reason", "DIMM"}}},
      {"nodes resume", {{"nodes", "resume", "n1"}}},
      {"nodes rename", {{"nodes", "rename", "n1", "m1"}}},
      {"preflight", {{"preflight"}}},
      {"topo", {{"topo", "n1"}}},
      {"run", {{"run", "quick"}}},
      {"runs", {{"runs"}}},
      {"runs show", {{"runs", "show", kSampleRun}}},
      {"runs wait", {{"runs", "wait", kSampleRun}}},
      {"runs resume", {{"runs", "resume", kSampleRun}}},
      {"runs cancel", {{"runs", "cancel", kSampleRun}}},
      {"prove", {{"prove", "n1"}, "table"}},
      {"suites", {{"suites"}}},
      {"suites show", {{"suites", "show", "broken"}}},
      {"suites check", {{"suites", "check", "broken"}}},
      {"suites plan", {{"suites", "plan", "quick"}}},
      {"schedules", {{"schedules"}}},
      {"schedules show", {{"schedules", "show", "nightly"}}},
      {"schedules add", {{"schedules", "add", "nightly", "fabric", "--cron", "30 1 * * *"}}},
      {"schedules set", {{"schedules", "set", "nightly", "paused"}}},
      {"schedules run-now", {{"schedules", "run-now", "nightly"}, kAllFormats, true}},
      {"kernels", {{"kernels"}}},
      {"kernels show", {{"kernels", "show", "verbs.write_lat"}}},
      {"results", {{"results"}}},
      {"history", {{"history"}}},
      {"runs compare", {{"runs", "compare", "r-a", "r-b"}}},
      {"runs matrix", {{"runs", "matrix", kSampleRun}}},
      {"runs suspects", {{"runs", "suspects", kSampleRun}}},
      {"baselines", {{"baselines"}}},
      {"baselines pin", {{"baselines", "pin"}}},
      {"baselines diff", {{"baselines", "diff"}}},
      {"certificate", {{"certificate", kSampleRun}, "table"}},
      {"upgrades", {{"upgrades"}}},
      {"upgrades prepare", {{"upgrades", "prepare", "--nodes", "n1,n2"}}},
      {"upgrades gate", {{"upgrades", "gate", "--nodes", "n1,n2"}}},
      {"upgrades extend", {{"upgrades", "extend", "ur-20261120-120000-1"}}},
      {"upgrades show", {{"upgrades", "show"}}},
      {"doctor", {{"doctor"}}},
      {"audit", {{"audit"}}},
      {"tokens", {{"tokens"}}},
      {"tokens create", {{"tokens", "create"}, kAllFormats, true}},
      {"tokens revoke", {{"tokens", "revoke", "5e6f7a8b"}}},
      {"console", {{"console"}, kAllFormats, true}},
      {"bundle", {{"bundle", kSampleRun}}},
      {"version", {{"version"}}},
      {"export", {{"export", "all"}, "json ndjson csv"}},
      {"sql", {{"sql", "SELECT 1"}}},
      {"db stats", {{"db", "stats"}}},
      {"db check", {{"db", "check"}}},
      {"db backup", {{"db", "backup", "/backup/railgauge.db"}}},
      {"db prune", {{"db", "prune", "--raw-days", "1"}}}};
  return all;
}

// Those that the grammar marks as local ask no controller either. mcp/protocol_test.cc has mcp.
// Status asks standbys too, for roles alone: they serve no data.
const std::set<std::string>& askers_of_nobody() {
  static const std::set<std::string> all{"db restore", "mcp", "status"};
  return all;
}

class Marks : public Commands {
 protected:
  void SetUp() override {
    Commands::SetUp();
    Certificate content;
    content.set_schema_version(1);
    content.set_kind("run");
    content.set_subject(kSampleRun);
    content.mutable_proof()->set_verdict("proved");
    judge_.certificate.set_schema_version(1);
    const std::string sealed = certificate::seal(content, "").value().text;
    judge_.certificate.set_text(sealed.substr(0, sealed.size() - 1));
  }
  void TearDown() override {
    std::filesystem::remove(archive_path_);
    Commands::TearDown();
  }
  // The verb's output in `format`; a new archive each time.
  void use(const MarkedUse& verb, Format format) {
    std::vector<std::string> words = verb.words;
    if (words[0] == "bundle") words.insert(words.end(), {"--file", archive_path_});
    std::filesystem::remove(archive_path_);
    run(words, format);
  }
  void expect_marked(const MarkedUse& verb, std::string_view format) const {
    if (format == "table") {
      EXPECT_THAT(verb.has_value ? err_ : out_, HasSubstr(kMarkLine)) << err_;
      if (verb.has_value) EXPECT_THAT(out_, Not(HasSubstr("SYNTHETIC")));
    } else if (format == "json") {
      EXPECT_THAT(out_, EndsWith(",\n  \"data_kind\": \"synthetic\"\n}\n")) << err_;
    } else if (format == "csv") {
      EXPECT_THAT(out_.substr(0, out_.find('\n')), EndsWith(",data_kind")) << err_;
      EXPECT_THAT(out_, EndsWith("\n") /* a row, or none */);
      if (out_.find('\n') + 1 < out_.size()) EXPECT_THAT(out_, EndsWith(",synthetic\n"));
    } else {
      for (const std::string_view line : split_lines(out_))
        EXPECT_THAT(std::string(line), EndsWith(",\"data_kind\":\"synthetic\"}"));
    }
  }

  const std::string archive_path_ =
      (std::filesystem::temp_directory_path() / fmt::format("rg_marks_{}.tar", ::getpid()))
          .string();
};

TEST_F(Marks, EachVerbThatAsksAControllerSaysThatItsDataIsSynthetic) {
  is_synthetic_ = true;
  for (const Verb& verb : grammar().verbs) {
    const std::string name = full_name(verb);
    if (verb.is_local || askers_of_nobody().contains(name)) continue;
    const auto found = marked_uses().find(name);
    ASSERT_NE(found, marked_uses().end()) << name << " has no line in this test";
    for (const std::string_view format : words_of(found->second.formats)) {
      SCOPED_TRACE(fmt::format("{} as {}", name, format));
      use(found->second, *parse_format(format));
      expect_marked(found->second, format);
    }
  }
}

TEST_F(Marks, DataOfRealNodesHasNoMark) {
  for (const auto& [name, verb] : marked_uses())
    for (const std::string_view format : words_of(verb.formats)) {
      SCOPED_TRACE(fmt::format("{} as {}", name, format));
      use(verb, *parse_format(format));
      EXPECT_THAT(out_ + err_, Not(HasSubstr(kMarkLine)));
      EXPECT_THAT(out_ + err_, Not(HasSubstr("data_kind")));
    }
}

TEST_F(Marks, AScriptsValueIsAloneOnStdout) {
  is_synthetic_ = true;
  run({"run", "quick", "--detach", "--quiet"});
  EXPECT_EQ(out_, std::string(kSampleRun) + "\n");
  EXPECT_THAT(err_, HasSubstr(kMarkLine)) << "also where the output is quiet";
}

// It was carried out: the exit code and stdout are as ever.
TEST_F(Marks, AChangeThatTheArchiveMayLackIsSaidOnStderr) {
  is_archive_behind_ = true;
  EXPECT_EQ(run({"run", "quick", "--detach", "--quiet"}), 0);
  EXPECT_EQ(out_, std::string(kSampleRun) + "\n");
  EXPECT_THAT(err_, HasSubstr("done, but the archive may lack it still"));
  is_archive_behind_ = false;
  run({"run", "quick", "--detach", "--quiet"});
  EXPECT_THAT(err_, Not(HasSubstr("archive")));
}

TEST_F(Marks, APageThatIsCutEndsWithTheMark) {
  is_synthetic_ = true;
  fold_tables_at(80);
  run({"nodes", "show", "n1"});
  fold_tables_at(0);
  const std::size_t last = out_.rfind("SYNTHETIC: ");
  ASSERT_NE(last, std::string::npos) << out_;
  EXPECT_THAT(out_.substr(last), HasSubstr("not of hardware\n"));
}

TEST_F(Marks, AnArchiveSaysItInItsReadme) {
  const auto text_of_archive = [&] {
    use(marked_uses().at("bundle"), Format::kTable);
    std::stringstream text;
    text << std::ifstream(archive_path_).rdbuf();
    return text.str();
  };
  EXPECT_THAT(text_of_archive(), Not(HasSubstr("SYNTHETIC: it is of a modelled site")));
  is_synthetic_ = true;
  EXPECT_THAT(text_of_archive(), HasSubstr("SYNTHETIC: it is of a modelled site"));
}

TEST_F(Marks, TheReportsOfAModelledSiteSayItInEachForm) {
  is_synthetic_ = true;
  run({"report", "--since", "2026-11-20"}, Format::kJson);
  EXPECT_THAT(out_, HasSubstr("\"headline\": \"SYNTHETIC: "));
  EXPECT_THAT(out_, HasSubstr("\"synthetic\": true"));
  for (const Format format : {Format::kTable, Format::kMarkdown, Format::kHtml}) {
    run({"report", "--since", "2026-11-20"}, format);
    EXPECT_THAT(out_, HasSubstr("SYNTHETIC: "));
    EXPECT_THAT(out_, Not(HasSubstr(kMarkLine))) << "the headline is enough";
  }
}

}  // namespace
}  // namespace railgauge::cli
