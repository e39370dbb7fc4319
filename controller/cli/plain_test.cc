// The pure parts: words, settings, tables, amounts, CSV cells.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/input/arguments.h"
#include "controller/cli/input/inputs.h"
#include "controller/cli/input/settings.h"
#include "controller/cli/live/follow.h"
#include "controller/cli/render/csv.h"
#include "controller/cli/render/results_table.h"
#include "controller/cli/render/table.h"
#include "controller/cli/report/plan_report.h"
#include "controller/cli/report/run_report.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/units.h"
#include "kernels/core/text/variables.h"

namespace railgauge::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Words = std::vector<std::string>;

Result<Arguments> parse(const Words& words) { return parse_arguments(grammar(), words); }

std::string named(const Words& words) {
  const auto parsed = parse(words);
  if (!parsed) return "error: " + parsed.error().message;
  if (parsed->verb == nullptr) return "none";
  return std::string(parsed->verb->noun) + "/" + std::string(parsed->verb->name);
}

TEST(Arguments, PluralsListAndSingularsAreAccepted) {
  EXPECT_EQ(named({"nodes"}), "nodes/");
  EXPECT_EQ(named({"node"}), "nodes/");
  EXPECT_EQ(named({"node", "show", "n1"}), "nodes/show");
  EXPECT_EQ(named({"kernel", "show", "verbs.write_lat"}), "kernels/show");
  EXPECT_EQ(named({"result"}), "results/");
}

TEST(Arguments, ListIsWhatThePluralDoesAlone) {
  for (const char* noun : {"nodes", "runs", "suites", "schedules", "findings", "upgrades"})
    EXPECT_EQ(named({noun, "list"}), std::string(noun) + "/");
  EXPECT_EQ(named({"schedule", "list"}), "schedules/");
  EXPECT_EQ(parse({"nodes", "list", "--format", "json"})->value("format"), "json");
  EXPECT_EQ(named({"schedules", "list", "nightly"}),
            "error: schedules: \"nightly\" is one operand too many");
  EXPECT_EQ(named({"run", "list"}), "run/") << "a suite may be called so";
}

TEST(Arguments, RunAloneIsTheVerbAndRunShowIsTheNoun) {
  EXPECT_EQ(named({"run", "quick"}), "run/");
  EXPECT_EQ(named({"run", "quick", "--nodes", "n[1-3]"}), "run/");
  EXPECT_EQ(named({"nodes", "n[1-3]"}), "nodes/");
  EXPECT_EQ(named({"nodes", "shwo", "n1"}),
            "error: nodes: unknown verb \"shwo\"; did you mean \"show\"?");
  EXPECT_EQ(named({"run", "show", "r1"}), "runs/show");
  EXPECT_EQ(named({"runs", "cancel", "r1"}), "runs/cancel");
}

TEST(Arguments, UnknownVerbsAndFlagsGetTheNearestOne) {
  EXPECT_EQ(named({"nodse"}), "error: unknown verb \"nodse\"; did you mean \"nodes\"?");
  EXPECT_EQ(named({"runs", "cancle", "r1"}),
            "error: runs: unknown verb \"cancle\"; did you mean \"cancel\"?");
  EXPECT_THAT(named({"upgrades", "frobnicate"}), HasSubstr("\"; its verbs are "));
  EXPECT_EQ(named({"metrics", "bandwidth"}),
            "error: metrics: \"bandwidth\" is one operand too many; it takes flags alone");
  EXPECT_EQ(named({"frobnicate"}), "error: unknown verb \"frobnicate\"; railgauge help lists all");
  EXPECT_THAT(named({"nodes", "--fromat", "json"}), HasSubstr("did you mean \"--format\"?"));
}

TEST(Arguments, FlagsStandAnywhereAndTakeBothForms) {
  const auto parsed = parse({"--format=json", "run", "--nodes", "n1,n2", "quick", "--detach"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->value("format"), "json");
  EXPECT_EQ(parsed->value("nodes"), "n1,n2");
  EXPECT_TRUE(parsed->has("detach"));
  EXPECT_EQ(parsed->operand(0), "quick");
  EXPECT_EQ(parse({"nodes", "-o", "csv"})->value("format"), "csv");
  EXPECT_EQ(parse({"runs", "compare", "a", "--", "--odd"})->operand(1), "--odd");
}

TEST(Arguments, WrongUseSaysWhatIsWrong) {
  EXPECT_EQ(named({"nodes", "--detach"}), "error: nodes has no flag --detach");
  EXPECT_EQ(named({"run"}), "error: run: missing operand: SUITE");
  EXPECT_EQ(named({"runs", "show", "a", "b"}), "error: runs show: \"b\" is one operand too many");
  EXPECT_EQ(named({"nodes", "--format"}), "error: --format needs a value: --format FORMAT");
  EXPECT_EQ(named({"run", "q", "--all=yes"}), "error: --all takes no value");
  EXPECT_EQ(named({"nodes", "-o", "csv", "--format", "csv"}), "error: --format is given twice");
  EXPECT_EQ(named({"nodes", "show", "n\xff"}), "error: \"n?\": byte 2 is not UTF-8");
  EXPECT_EQ(named({"nodes", "-x"}), "error: unknown flag -x");
  EXPECT_EQ(named({"nodes", "-k", "a=b"}), "error: unknown flag -k") << "no near name is proposed";
  EXPECT_EQ(named({"nodes", "-format", "csv"}),
            "error: unknown flag -format; did you mean \"--format\"?");
}

TEST(Arguments, OldSpellingsAnswerWithThePresentOneAndDoNotRun) {
  const std::vector<std::pair<Words, std::string>> told{
      {{"matrix", "r1"}, "railgauge matrix is railgauge runs matrix now"},
      {{"suspects"}, "railgauge suspects is railgauge runs suspects now"},
      {{"compare", "a", "b"}, "railgauge compare is railgauge runs compare now"},
      {{"metrics", "describe"}, "railgauge metrics describe is railgauge metrics --describe now"},
      {{"baselines", "show"}, "railgauge baselines show is railgauge baselines now"},
      {{"schedule", "pause", "nightly"},
       "railgauge schedules pause is railgauge schedules set SCHEDULE paused now"},
      {{"schedules", "resume", "nightly"},
       "railgauge schedules resume is railgauge schedules set SCHEDULE active now"},
      {{"schedules", "remove", "nightly"},
       "railgauge schedules remove is railgauge schedules set SCHEDULE removed now"},
      {{"preflight", "--strict"},
       "railgauge preflight --strict is railgauge preflight --require all now"},
      {{"upgrades", "gate", "--continue", "u1"},
       "railgauge upgrades gate --continue is railgauge upgrades extend UPGRADE now"},
      {{"upgrades", "gate", "--wait", "1h"},
       "railgauge upgrades gate --wait is railgauge upgrades gate --wait-nodes DURATION, with "
       "--time-limit for all of it now"},
      {{"nodes", "--nodes", "n1"}, "railgauge nodes --nodes is railgauge nodes NODESET now"},
      {{"nodes", "pause", "--nodes", "n1"},
       "railgauge nodes pause --nodes is railgauge nodes pause NODESET now"},
      {{"nodes", "resume", "--nodes", "n1"},
       "railgauge nodes resume --nodes is railgauge nodes resume NODESET now"},
      {{"run", "quick", "n1"},
       "railgauge run SUITE NODESET is railgauge run SUITE --nodes NODESET now"},
      {{"suites", "plan", "quick", "n1"},
       "railgauge suites plan SUITE NODESET is railgauge suites plan SUITE --nodes NODESET now"},
      {{"schedules", "add", "a", "quick", "n1"},
       "railgauge schedules add NAME SUITE NODESET is railgauge schedules add NAME SUITE --nodes "
       "NODESET now"},
      {{"upgrades", "prepare", "n1"},
       "railgauge upgrades prepare NODESET is railgauge upgrades prepare --nodes NODESET now"},
      {{"upgrades", "gate", "n1"},
       "railgauge upgrades gate NODESET is railgauge upgrades gate --nodes NODESET now"}};
  for (const auto& [words, text] : told) EXPECT_EQ(named(words), "error: " + text);
  EXPECT_EQ(named({"upgrades", "prepare", "--wait", "1h"}), "upgrades/prepare");
  EXPECT_EQ(named({"results", "--nodes", "n1"}), "results/");
  EXPECT_EQ(grammar().old.size(), told.size()) << "each old spelling has its line here";
}

TEST(Arguments, AWordOutsideOfItsChoiceGetsTheNearestOne) {
  EXPECT_EQ(named({"findings", "--state", "opne"}),
            "error: --state: \"opne\" is none of new, confirmed, acknowledged, investigating, "
            "downstream, accepted, fixed, rolled_back, false, reopened");
  EXPECT_THAT(named({"findings", "--state", "confirmd"}),
              HasSubstr("; did you mean \"confirmed\"?"));
  EXPECT_THAT(named({"schedules", "add", "n", "s", "--concurrency", "skp"}),
              HasSubstr("--concurrency: \"skp\" is none of skip, queue, replace; did you mean"));
  EXPECT_EQ(named({"findings", "--state", "fixed"}), "findings/");
}

// The help with each run of blanks and line ends as one blank.
std::string unfolded(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

// Words as a shell makes them of a line; quotes hold blanks.
Words words_of_line(const std::string& line) {
  Words words(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"')
      is_quoted = !is_quoted;
    else if (c == ' ' && !is_quoted)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

// The value of a flag that has a duration or a time is one.
void expect_sound_values(const Arguments& arguments, const std::string& where) {
  for (const Flag& flag : arguments.verb->flags) {
    if (!arguments.has(flag.name)) continue;
    const std::string value = arguments.value(flag.name);
    const bool is_sound = flag.value == "DURATION" ? parse_duration_ns(value).has_value()
                          : flag.value == "TIME"   ? parse_time(value, 0).has_value()
                                                   : true;
    EXPECT_TRUE(is_sound) << where << ": " << value;
  }
}

TEST(Help, EveryVerbHasAGroupAndAnExampleThatIsItsOwnUse) {
  for (const Verb& verb : grammar().verbs) {
    EXPECT_FALSE(verb.group.empty()) << full_name(verb);
    const auto parsed = parse(words_of_line(std::string(verb.example)));
    ASSERT_TRUE(parsed) << verb.example << ": " << parsed.error().message;
    EXPECT_EQ(full_name(*parsed->verb), full_name(verb)) << verb.example;
    expect_sound_values(*parsed, std::string(verb.example));
  }
}

TEST(Help, IsAtMost80ColumnsWideWhateverIsAskedFor) {
  const Grammar all = grammar();
  std::vector<Words> asked{{"help"}};
  for (const Verb& verb : all.verbs) {
    asked.push_back({"help", std::string(verb.noun)});
    if (!verb.name.empty())
      asked.push_back({"help", std::string(verb.noun), std::string(verb.name)});
  }
  for (const Words& words : asked) {
    std::istringstream lines(help_text(all, *parse(words)));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(Help, GroupsVerbsByTheTaskOfTheirUsers) {
  const Grammar all = grammar();
  const std::string text = help_text(all, *parse({"help"}));
  const std::size_t day = text.find("\nThe site, day by day:\n");
  const std::size_t expert = text.find("\nThe database, and figures for other programs:\n");
  EXPECT_LT(day, text.find("\n  findings "));
  EXPECT_LT(text.find("\n  findings "), expert);
  EXPECT_LT(expert, text.find("\n  sql SELECT"));
  EXPECT_THAT(help_text(all, *parse({"help", "runs", "show"})),
              HasSubstr("\n  Example: railgauge runs show 2026"));
}

// Those who are on call type them at night.
TEST(Help, CommandsThatAlertsAndPanelsNameAreSound) {
  const std::regex command(
      "railgauge ([a-z][a-z-]*(?: [a-z][a-z-]*)?)((?: --[a-z-]+(?: "
      "[A-Za-z0-9_][A-Za-z0-9_:,.-]*[A-Za-z0-9])?)+)");
  int count = 0;
  for (const char* name : {"alerts", "boards", "panels"}) {
    std::ifstream file(fmt::format("dashboards/source/{}.py", name));
    ASSERT_TRUE(file) << name;
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    for (std::sregex_iterator at(text.begin(), text.end(), command), end; at != end; ++at) {
      std::string line = (*at)[1].str() + (*at)[2].str();
      while (line.ends_with(',') || line.ends_with('.')) line.pop_back();
      const auto parsed = parse(words_of_line(line));
      if (!parsed && parsed.error().message.find("missing operand") != std::string::npos) continue;
      ASSERT_TRUE(parsed) << line << ": " << parsed.error().message;
      expect_sound_values(*parsed, line);
      ++count;
    }
  }
  EXPECT_GT(count, 5);
}

TEST(Help, EveryVerbAndEveryFlagIsInIt) {
  const Grammar all = grammar();
  const std::string text = unfolded(help_text(all, *parse({"help"})));
  for (const Verb& verb : all.verbs) {
    EXPECT_THAT(text, HasSubstr(std::string(verb.summary)));
    Words words{std::string(verb.noun), "--help"};
    if (!verb.name.empty()) words.insert(words.begin() + 1, std::string(verb.name));
    const auto asked = parse(words);
    ASSERT_TRUE(asked) << asked.error().message;
    EXPECT_TRUE(asked->help);
    for (const Flag& flag : verb.flags)
      EXPECT_THAT(help_text(all, *asked), HasSubstr("--" + std::string(flag.name)));
  }
  for (const Flag& flag : all.common) EXPECT_THAT(text, HasSubstr("--" + std::string(flag.name)));
}

TEST(Help, NoLineIsWiderThanATerminal) {
  const Grammar all = grammar();
  std::string text = help_text(all, *parse({"help"}));
  for (const Verb& verb : all.verbs)
    text += help_text(all, *parse({"help", std::string(verb.noun)}));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(testing::TempDir() + "cli_plain_test_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml") {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

using Variables = std::map<std::string, std::string, std::less<>>;

Result<Settings> resolve(Words words, const Variables& variables = {}) {
  words.insert(words.begin(), "nodes");
  const auto parsed = parse(words);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return resolve_settings(*parsed, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Settings, AFlagBeatsAVariableBeatsTheFile) {
  const TemporaryFile file("controller = unix:/file  # a comment\nunits = bits\nformat=\"csv\"\n");
  const Variables variables{{"RAILGAUGE_CONTROLLER", "unix:/variable"},
                            {"RAILGAUGE_UNITS", "bytes"}};
  const auto settings = resolve({"--config", file.path(), "--controller", "unix:/flag"}, variables);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->controller, "unix:/flag");
  EXPECT_EQ(settings->units, Units::kBytes);
  EXPECT_EQ(settings->format, Format::kCsv);
}

TEST(Settings, AWrongSettingNamesWhereItStands) {
  const TemporaryFile file("\ncontroler = unix:/x\n");
  EXPECT_THAT(resolve({"--config", file.path()}).error().message,
              HasSubstr(":2: unknown key \"controler\"; did you mean \"controller\"?"));
  EXPECT_EQ(resolve({}, {{"RAILGAUGE_FORMAT", "xml"}}).error().message,
            "RAILGAUGE_FORMAT: \"xml\" is none of table, text, json, csv, ndjson, md, html");
  EXPECT_THAT(resolve({"--config", "/nonexistent/x"}).error().message,
              HasSubstr("/nonexistent/x: open: No such file or directory"));
  EXPECT_THAT(resolve({"--timeout", "soon"}).error().message, HasSubstr("--timeout: "));
}

TEST(Settings, TcpNeedsCertificatesOrInsecure) {
  EXPECT_EQ(resolve({"--controller", "host:7443"}).error().code, Code::kInvalidArgument);
  EXPECT_TRUE(resolve({"--controller", "host:7443", "--insecure"}));
  EXPECT_TRUE(
      resolve({"--controller", "host:7443", "--tls-cert", "a", "--tls-key", "b", "--tls-ca", "c"}));
  EXPECT_FALSE(resolve({"--controller", "host:7443", "--tls-cert", "a"}));
  EXPECT_FALSE(resolve({"--controller", "host:7443", "--tls-cert", "a", "--insecure"}));
  EXPECT_FALSE(resolve({"--controller", "host", "--insecure"}));
}

TEST(Settings, VerbsThatCallNobodyNeedNoCertificates) {
  const Environment variables = [](const std::string& name) -> std::optional<std::string> {
    return name == "RAILGAUGE_CONTROLLER" ? std::optional<std::string>("host:7443") : std::nullopt;
  };
  for (const Words& words :
       {Words{"pki", "show", "folder"}, Words{"completion", "bash"}, Words{"config", "check"},
        Words{"metrics"}, Words{"analyze", "a.csv"}}) {
    const auto parsed = parse(words);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_TRUE(resolve_settings(*parsed, variables)) << words.front();
  }
  EXPECT_FALSE(resolve_settings(*parse({"nodes"}), variables));
}

TEST(Settings, TheSameInvocationCanBePasted) {
  const auto settings = resolve({"--insecure", "--controller", "h:1"});
  EXPECT_EQ(same_invocation(*settings), "railgauge --controller h:1 --insecure");
  const auto odd = resolve({}, {{"RAILGAUGE_CONTROLLER", "unix:/tmp/it's here"}});
  EXPECT_EQ(same_invocation(*odd), "railgauge --controller 'unix:/tmp/it'\\''s here'");
  EXPECT_EQ(same_invocation(*resolve({})), "railgauge");
}

// The list of variables is kernels/core/text/variables.cc's.
TEST(Settings, VariablesOfAllProgramsAreKnown) {
  std::vector<std::string> own{"RAILGAUGE_CONFIG"};
  for (const Flag& flag : common_flags())
    if (flag.name != "help" && flag.name != "version" && flag.name != "config" &&
        flag.name != "full" && flag.name != "quiet")
      own.push_back(setting_variable(flag.name));
  EXPECT_THAT(unknown_variables(own), IsEmpty());
  for (const char* page : {"agent-settings", "controller-settings"}) {
    std::ifstream file(std::string("deploy/docs/reference/") + page + ".md");
    std::vector<std::string> variables;
    for (std::string line; std::getline(file, line);)
      if (const std::size_t at = line.find("| `RAILGAUGE_"); at != std::string::npos)
        variables.push_back(line.substr(at + 3, line.find('`', at + 3) - at - 3));
    EXPECT_GT(variables.size(), 20u) << page;
    EXPECT_THAT(unknown_variables(variables), IsEmpty()) << page;
  }
}

TEST(Inputs, ANodesFileIsOneSet) {
  const TemporaryFile file("gpu[001-004]\n# not these\n!gpu002  # broken\r\n\n");
  const auto arguments = parse({"run", "quick", "--nodes-file", file.path()});
  EXPECT_EQ(*node_set_of(*arguments, 1), "gpu[001-004],!gpu002");
  const auto both = parse({"run", "quick", "--nodes", "n1", "--nodes-file", file.path()});
  EXPECT_EQ(node_set_of(*both, 1).error().code, Code::kInvalidArgument);
}

TEST(Inputs, APathIsReadAndAnythingElseIsAName) {
  const TemporaryFile file("version: 1\n");
  EXPECT_EQ(suite_source(file.path())->text(), "version: 1\n");
  EXPECT_EQ(suite_source(file.path())->file_name(), file.path());
  EXPECT_EQ(suite_source("quick")->name(), "quick");
  EXPECT_THAT(suite_source("./none.yaml").error().message, HasSubstr("No such file"));
  EXPECT_THAT(suite_source("/tmp/").error().message, HasSubstr("Is a directory"));
}

TEST(Inputs, ASliceGoesWithTheNameOrIntoTheText) {
  const auto source = [](std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    return suite_to_run(*parse(words));
  };
  EXPECT_EQ(source({"fabric"})->name(), "fabric");
  EXPECT_EQ(source({"fabric", "--slice", "3/96"})->name(), "fabric:3/96");
  const TemporaryFile file("version: 1");
  EXPECT_EQ(source({file.path(), "--slice", "3/96"})->text(), "version: 1\nslice: 3/96\n");
  EXPECT_THAT(source({"fabric", "--slice", "1/2\nseed: 7"}).error().message,
              HasSubstr("is no K/N"));
}

TEST(Table, ColumnsAlignAndEmptyOnesAreLeftOut) {
  EXPECT_EQ(
      render_table({{"A"}, {"EMPTY"}, {"N", true}}, {{"größe", "", "5"}, {"b", "", "123"}}, false),
      "A        N\n"
      "größe    5\n"
      "b      123\n");
}

// A table of a terminal of so many columns.
std::string folded(int terminal_columns, const std::vector<Column>& columns,
                   const std::vector<std::vector<Cell>>& rows) {
  fold_tables_at(terminal_columns);
  std::string text = render_table(columns, rows, false);
  fold_tables_at(0);
  return text;
}

TEST(Table, OnANarrowTerminalColumnsThatDoNotFitStandBelow) {
  const std::vector<Column> columns{{"NODE"}, {"STATE"}, {"COUNT", true}, {"WHY"}};
  const std::vector<std::vector<Cell>> rows{{"n1", "attached", "7", ""},
                                            {"n10", "lost", "123", "no answer"}};
  const std::string wide = render_table(columns, rows, false);
  EXPECT_EQ(wide,
            "NODE  STATE     COUNT  WHY\n"
            "n1    attached      7\n"
            "n10   lost        123  no answer\n");
  EXPECT_EQ(folded(33, columns, rows), wide) << "32 columns and the last one free";
  EXPECT_EQ(folded(32, columns, rows),
            "NODE  STATE     COUNT\n"
            "    WHY\n"
            "n1    attached      7\n"
            "n10   lost        123\n"
            "    no answer\n");
  EXPECT_EQ(folded(16, columns, rows),
            "NODE  STATE\n"
            "    COUNT\n"
            "    WHY\n"
            "n1    attached\n"
            "        7\n"
            "n10   lost\n"
            "      123\n"
            "    no answer\n");
  EXPECT_EQ(folded(1, columns, rows).find("  \n"), std::string::npos);
}

TEST(Table, NoLineEndsInBlanks) {
  EXPECT_EQ(render_table({{"A"}, {"B"}}, {{"long", "x"}, {"y", ""}}, false),
            "A     B\nlong  x\ny\n");
}

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(csv_cell("plain"), "plain");
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("=HYPERLINK(1)"), "'=HYPERLINK(1)") << "an agent's text is no formula";
  EXPECT_EQ(csv_cell("@SUM(1)"), "'@SUM(1)");
  EXPECT_EQ(csv_cell("-3.5e-9"), "-3.5e-9");
  EXPECT_EQ(csv_cell("-"), "-");
  EXPECT_EQ(csv_cell("say \"x\"\n"), "\"say \"\"x\"\"\\n\"");
  EXPECT_EQ(csv_cell("a\r\x1b[2J\u0085\u202e"), R"(a\r\x1b[2J\u0085\u202e)");
}

TEST(Figures, HaveFourSignificantDigitsAndNoExponent) {
  EXPECT_EQ(figure(2.31725), "2.317");
  EXPECT_EQ(figure(97.4), "97.40");
  EXPECT_EQ(figure(123456), "123456");
  EXPECT_EQ(figure(0.0512), "0.05120");
  EXPECT_EQ(figure(0), "0.000");
  EXPECT_EQ(figure(std::nan("")), "-");
}

TEST(Figures, AmountsAndTimesAreRounded) {
  EXPECT_EQ(amount_text(1.5e9), "1.5 GB");
  EXPECT_EQ(amount_text(999'600), "1.0 MB");
  EXPECT_EQ(amount_text(64), "64 B");
  EXPECT_EQ(amount_text(-1), "-");
  EXPECT_EQ(seconds_text(0.04), "0.0 s");
  EXPECT_EQ(seconds_text(59.4), "59 s");
  EXPECT_EQ(seconds_text(200), "3 min 20 s");
  EXPECT_EQ(seconds_text(7500), "2 h 5 min");
  EXPECT_EQ(seconds_text(std::numeric_limits<double>::infinity()), "-");
}

TEST(Progress, TheLineFitsItsTerminal) {
  const std::string counts = "[##########----------] 1/2";
  EXPECT_EQ(progress_line(counts, "n1 to n2", 75, 80), counts + "  01:15  n1 to n2");
  EXPECT_EQ(progress_line(counts, "n1 to n2", 75, 20).size(), 19U);
  EXPECT_THAT(progress_line(counts, "a\x1b[2Jb", 0, 80), Not(HasSubstr("\x1b")));
}

TEST(ExitCodes, AnErrorOutsideATaskNeverWaivesOrPasses) {
  for (int code = 1; code <= 16; ++code) {
    const int exit_code = exit_code_of_call({static_cast<Code>(code), ""});
    EXPECT_THAT(exit_code, testing::AnyOf(kExitUsage, kExitInvalid, kExitInterrupted)) << code;
  }
}

}  // namespace
}  // namespace railgauge::cli
