// The completion scripts, run by the shells themselves.
#include "controller/cli/verbs/completion.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/verbs/commands.h"

namespace railgauge::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Completion : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "rg_complete_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    write("script", bash_completion(grammar()));
    // Replaces the program that the script asks for names.
    write("railgauge",
          "#!/bin/sh\ncase $1 in\n"
          "runs) printf 'schema_version,run_id,suite\\n1,r-1,quick\\n1,r-2,a b\\n' ;;\n"
          "nodes) case $2 in @) echo '{\"error\":{\"message\":\"node set: \\\"@\\\": a label, or a "
          "group: @spine-a, @gpus\"}}'; exit 2 ;; esac\n"
          "case $3 in\n"
          "csv) printf 'name,node_id\\nn1,x\\nn2,y\\n' ;;\n"
          "*) echo '{\"name\":\"n1\",\"nics\":[{\"device\":\"mlx5_0\",\"port\":1}],"
          "\"gpus\":[{\"name\":\"gpu0\"}],\"labels\":{\"pod\":\"p1\",\"rack\":\"r7\"}}' ;;\n"
          "esac ;;\n"
          "kernels) echo '{\"name\":\"k\",\"metrics\":[\"latency_ns\",\"rate\"]}' ;;\n"
          "pki) [ \"$3\" = here ] && printf 'name,role\\nop,operator\\n' ;;\n"
          "findings) case $3 in\n"
          "csv) printf 'schema_version,finding_id,kind\\n1,step-n1,step\\n' ;;\n"
          "*) printf 'schema_version,finding_id,kind\\n1,part-n2,part\\n' ;;\n"
          "esac ;;\n"
          "upgrades) printf 'schema_version,upgrade_id\\n1,ur-1\\n' ;;\n"
          "history) printf 'series_id,kernel\\n4711,k\\n' ;;\n"
          "suites) printf 'name,summary\\nquick,x\\nnightly,y\\n$(evil),z\\n' ;;\nesac\n");
    std::filesystem::permissions(folder_ / "railgauge", std::filesystem::perms::owner_all);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  // The words that bash offers for the last of `words`.
  std::vector<std::string> offers(const std::vector<std::string>& words) {
    std::string quoted;
    for (const std::string& word : words) quoted += fmt::format(" '{}'", word);
    write("ask", fmt::format("cd {0}; PATH={0}:$PATH; . ./script\nCOMP_WORDS=(railgauge{1})\n"
                             "COMP_CWORD={2}\n_railgauge\n"
                             "[ ${{#COMPREPLY[@]}} = 0 ] || printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
                             folder_.string(), quoted, words.size()));
    return lines_of(fmt::format("bash --norc -u {} 2>&1", (folder_ / "ask").string()));
  }
  static std::vector<std::string> lines_of(const std::string& command) {
    std::vector<std::string> lines;
    FILE* pipe = popen(command.c_str(), "r");
    std::string line;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
      if (c != '\n') {
        line += static_cast<char>(c);
        continue;
      }
      lines.push_back(std::move(line));
      line.clear();
    }
    pclose(pipe);
    return lines;
  }

  std::filesystem::path folder_;
};

TEST_F(Completion, EveryVerbAndFlagOfTheGrammarIsOffered) {
  const Grammar all = grammar();
  const auto nouns = offers({""});
  for (const Verb& verb : all.verbs) {
    EXPECT_THAT(nouns, Contains(std::string(verb.noun)));
    std::vector<std::string> words{std::string(verb.noun)};
    if (!verb.name.empty()) {
      EXPECT_THAT(offers({words[0], ""}), Contains(std::string(verb.name)));
      words.emplace_back(verb.name);
    }
    words.emplace_back("--");
    const auto flags = offers(words);
    EXPECT_THAT(flags, Contains("--format"));
    for (const Flag& flag : verb.flags)
      EXPECT_THAT(flags, Contains(fmt::format("--{}", flag.name))) << words[0];
  }
}

TEST_F(Completion, WhatIsTypedAlreadyNarrowsIt) {
  EXPECT_THAT(offers({"runs", "ca"}), ElementsAre("cancel"));
  EXPECT_THAT(offers({"--format", "json", "runs", "ca"}), ElementsAre("cancel"))
      << "a flag's value is no noun";
  EXPECT_THAT(offers({"nodes", "--fo"}), ElementsAre("--format"));
  EXPECT_THAT(offers({"nodes", "--format", "nd"}), ElementsAre("ndjson"));
  EXPECT_THAT(offers({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(offers({"schedule", "ru"}), ElementsAre("run-now")) << "as it is understood";
  EXPECT_THAT(offers({"schedules", "set", "nightly", ""}),
              ElementsAre("active", "paused", "removed"));
  EXPECT_THAT(offers({"suite", "check", "--fo"}), ElementsAre("--format"));
}

TEST_F(Completion, NamesAreAskedOfTheController) {
  EXPECT_THAT(offers({"runs", "cancel", ""}), ElementsAre("r-1", "r-2"));
  EXPECT_THAT(offers({"run", "qu"}), ElementsAre("quick"));
  EXPECT_THAT(offers({"run", ""}), Not(Contains("$(evil)"))) << "only plain names reach the shell";
}

TEST_F(Completion, BehindACommaTheNextWordIsCompleted) {
  EXPECT_THAT(offers({"events", "--kind", "stack,watch_x"}), ElementsAre("stack,watch_xid"));
  EXPECT_THAT(offers({"preflight", "--require", "acs,m"}),
              testing::AllOf(Contains("acs,mtu"), testing::Each(testing::StartsWith("acs,m"))));
  EXPECT_THAT(offers({"run", "quick", "--nodes", "n1,n"}), Contains("n1,n2"));
}

TEST_F(Completion, AControllerThatIsAwayOffersNothing) {
  write("railgauge", "#!/bin/sh\necho oops >&2\nexit 4\n");
  EXPECT_THAT(offers({"runs", "cancel", ""}), IsEmpty());
}

// In a zsh of its own on a terminal of its own, with its completion system and the script where
// people put it.
class ZshCompletion : public Completion {
 protected:
  void SetUp() override {
    if (lines_of("command -v zsh").empty()) GTEST_SKIP() << "waived: zsh is not installed";
    Completion::SetUp();
    write("_railgauge", zsh_completion(grammar()));
    // ^T leaves with the words of the line.
    write(".zshrc",
          "PROMPT=\npath=($ZDOTDIR $path)\nfpath=($ZDOTDIR $fpath)\n"
          "autoload -Uz compinit\ncompinit -u -d $ZDOTDIR/dump\n"
          "leave() { print -r -- \"$BUFFER\" >$ZDOTDIR/line; exit }\n"
          "zle -N leave\nbindkey '^T' leave\n");
    write("ask",
          "zmodload zsh/zpty || exit\nzpty shell zsh -d -i\n"
          "zpty -w -n shell \"$1\"$'\\t\\x14'\n"
          "while zpty -r shell noise; do :; done\ncat $ZDOTDIR/line\n");
  }
  void TearDown() override {
    if (!folder_.empty()) Completion::TearDown();
  }
  // The line after somebody typed that and pressed the tabulator.
  std::vector<std::string> line_after_tab(const std::string& typed) {
    std::filesystem::remove(folder_ / "line");
    return lines_of(fmt::format("cd {0}; TERM=xterm ZDOTDIR={0} timeout 60 zsh -f ask '{1}' 2>&1",
                                folder_.string(), typed));
  }
};

TEST_F(ZshCompletion, ReadsItsScript) {
  EXPECT_THAT(lines_of(fmt::format("zsh -n {} 2>&1", (folder_ / "_railgauge").string())),
              IsEmpty());
}

TEST_F(ZshCompletion, CompletesNounsVerbsAndFlagsWithTheirWords) {
  EXPECT_THAT(line_after_tab("railgauge sched"), ElementsAre("railgauge schedules "));
  EXPECT_THAT(line_after_tab("railgauge runs ca"), ElementsAre("railgauge runs cancel "));
  EXPECT_THAT(line_after_tab("railgauge schedule ru"), ElementsAre("railgauge schedule run-now "));
  EXPECT_THAT(line_after_tab("railgauge nodes --fo"), ElementsAre("railgauge nodes --format "));
  EXPECT_THAT(line_after_tab("railgauge nodes --format nd"),
              ElementsAre("railgauge nodes --format ndjson "));
}

TEST_F(ZshCompletion, CompletesNamesThatTheControllerTells) {
  EXPECT_THAT(line_after_tab("railgauge run ni"), ElementsAre("railgauge run nightly "));
  EXPECT_THAT(line_after_tab("railgauge runs cancel r"), ElementsAre("railgauge runs cancel r-"))
      << "as far as r-1 and r-2 are the same";
  EXPECT_THAT(line_after_tab("railgauge run $"), ElementsAre("railgauge run $"))
      << "only plain names reach the shell";
}

TEST_F(ZshCompletion, CompletesFindingsUpgradesAndStates) {
  EXPECT_THAT(line_after_tab("railgauge findings show s"),
              ElementsAre("railgauge findings show step-n1 "));
  EXPECT_THAT(line_after_tab("railgauge upgrades show u"),
              ElementsAre("railgauge upgrades show ur-1 "));
  EXPECT_THAT(line_after_tab("railgauge findings --state reo"),
              ElementsAre("railgauge findings --state reopened "));
}

TEST_F(ZshCompletion, WithAControllerThatIsAwayTheLineStays) {
  write("railgauge", "#!/bin/sh\necho oops >&2\nexit 4\n");
  EXPECT_THAT(line_after_tab("railgauge runs cancel r"), ElementsAre("railgauge runs cancel r"));
}

// As by `source <(railgauge completion zsh)`.
TEST_F(ZshCompletion, WorksWhenItsScriptIsSourcedToo) {
  std::filesystem::rename(folder_ / "_railgauge", folder_ / "sourced");
  std::ofstream(folder_ / ".zshrc", std::ios::app) << ". $ZDOTDIR/sourced\n";
  EXPECT_THAT(line_after_tab("railgauge runs ca"), ElementsAre("railgauge runs cancel "));
}

// The kinds of operands, as a person meets them.
const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> kNamed{
    {{"findings", "show", ""}, {"step-n1"}},
    {{"upgrades", "show", "u"}, {"ur-1"}},
    {{"upgrades", "extend", ""}, {"ur-1"}},
    {{"history", "4"}, {"4711"}},
    {{"results", "--series", ""}, {"4711"}},
    {{"events", "--kind", "watch_x"}, {"watch_xid"}},
    {{"findings", "reopen", ""}, {"part-n2"}},
    {{"nodes", "diff", "n1", "n"}, {"n1", "n2"}},
    {{"runs", "compare", ""}, {"r-1", "r-2"}},
    {{"preflight", "n1", ""}, {"n1", "n2"}},
    {{"nodes", "-l", ""}, {"pod=p1", "rack=r7"}},
    {{"nodes", "--labels", "ra"}, {"rack=r7"}},
    {{"run", "quick", "--nodes", "@"}, {"@gpus", "@p1", "@r7", "@spine-a"}},
    {{"run", "quick", "--nodes", "@s"}, {"@spine-a"}},
    {{"results", "--metric", "la"}, {"latency_ns"}},
    {{"results", "--endpoint", ""}, {"gpu0", "mlx5_0:1"}},
    {{"pki", "revoke", "here", ""}, {"op"}},
    {{"pki", "renew", "here", ""}, {"op"}},
    {{"audit", "--rpc", "CancelR"}, {"CancelRun"}},
    {{"preflight", "--explain", "hug"}, {"hugepages"}},
    {{"findings", "--state", "re"}, {"reopened"}},
    {{"pki", "issue", "folder", "op"}, {"operator"}},
    {{"bundle", ""}, {"r-1", "r-2", "step-n1", "n1", "n2"}}};

TEST_F(Completion, EveryKindOfOperandIsCompleted) {
  for (const auto& [words, offered] : kNamed)
    EXPECT_EQ(offers(words), offered) << words.front() << " " << words.back();
}

// As in a real line, where bash breaks words at = and : by itself.
TEST_F(Completion, LabelsAndEndpointsAreCompletedBehindTheirMarks) {
  const auto rest = [this](const std::string& line) {
    write("line", fmt::format("cd {0}; PATH={0}:$PATH; . ./script\nCOMP_LINE='{1}'\n"
                              "COMP_POINT=${{#COMP_LINE}}\n_railgauge\n"
                              "printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
                              folder_.string(), line));
    return lines_of(fmt::format("bash --norc -u {} 2>&1", (folder_ / "line").string()));
  };
  EXPECT_THAT(rest("railgauge nodes -l rack=r"), ElementsAre("r7"));
  EXPECT_THAT(rest("railgauge results --endpoint mlx5_0:"), ElementsAre("1"));
  EXPECT_THAT(rest("railgauge run quick --nodes @r"), ElementsAre("r7"));
  EXPECT_THAT(rest("railgauge runs can"), ElementsAre("cancel"));
}

// No list of the controller has them, so that the script has a copy.
TEST_F(Completion, ChecksAreThoseOfTheAgent) {
  const auto known = lines_of(
      "sed -n 's/^    Check{\"\\([a-z0-9_]*\\)\".*/\\1/p' agent/preflight/checks/table.cc");
  ASSERT_GT(known.size(), 30u);
  EXPECT_EQ(offers({"preflight", "--explain", ""}), known);
}

TEST_F(Completion, CallsAreThoseOfTheController) {
  const auto known = lines_of(
      "sed -n 's/^    Right{k[A-Z][a-zA-Z]*, \"\\([A-Za-z]*\\)\".*/\\1/p' controller/rpc/rights.h");
  ASSERT_GT(known.size(), 40u);
  EXPECT_EQ(offers({"audit", "--rpc", ""}), known);
}

// fish completes by the script's function, as a person's tabulator does.
class FishCompletion : public Completion {
 protected:
  void SetUp() override {
    if (std::system("command -v fish >/dev/null") != 0)  // NOLINT: a fixed command of this test
      GTEST_SKIP() << "no fish here: deploy/deps.sh installs it";
    Completion::SetUp();
    write("script.fish", fish_completion(grammar()));
  }
  void TearDown() override {
    if (!folder_.empty()) Completion::TearDown();
  }
  // The words that fish offers for the line, without their descriptions.
  std::vector<std::string> offers_of_fish(const std::vector<std::string>& words) {
    std::string line = "railgauge";
    for (const std::string& word : words) line += " " + word;
    write("ask.fish", fmt::format("set -x PATH {0} $PATH\nsource {0}/script.fish\n"
                                  "complete -C '{1}' | string replace -r '\\t.*' ''\n",
                                  folder_.string(), line));
    return lines_of(
        fmt::format("cd {0} && HOME={0} XDG_CONFIG_HOME={0} XDG_DATA_HOME={0} fish "
                    "--no-config ask.fish 2>&1",
                    folder_.string()));
  }
};

TEST_F(FishCompletion, CompletesVerbsFlagsNamesAndFiles) {
  using testing::UnorderedElementsAreArray;
  EXPECT_THAT(offers_of_fish({"runs", "ca"}), ElementsAre("cancel"));
  EXPECT_THAT(offers_of_fish({"schedule", "ru"}), ElementsAre("run-now"));
  EXPECT_THAT(offers_of_fish({"nodes", "--fo"}), ElementsAre("--format"));
  EXPECT_THAT(offers_of_fish({"nodes", "--format", "nd"}), ElementsAre("ndjson"));
  for (const auto& [words, offered] : kNamed)
    EXPECT_THAT(offers_of_fish(words), UnorderedElementsAreArray(offered)) << words.front();
  EXPECT_THAT(offers_of_fish({"suites", "check", "scr"}), Contains("script.fish"));
  write("railgauge", "#!/bin/sh\necho oops >&2\nexit 4\n");
  EXPECT_THAT(offers_of_fish({"runs", "cancel", "r"}), IsEmpty()) << "the controller is away";
}

TEST_F(Completion, OtherShellsAreNamedInTheRefusal) {
  const auto refused = completion_for(grammar(), "zhs");
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("did you mean \"zsh\"?"));
}

}  // namespace
}  // namespace railgauge::cli
