// The truth table's program: prints the scenario or the suite of a case, judges cases without the
// service, or makes the row of a case that the service judged. deploy/truth.sh calls it.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/tasks/kernel_list.h"
#include "deploy/truth/modelled_nights.h"
#include "deploy/truth/truth_case.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"

namespace railgauge::truth {
namespace {

constexpr double kListSeconds = 20;
constexpr std::uint32_t kFewestNodes = 32;
constexpr std::uint32_t kFewestNodesOfTwo = 64;
constexpr const char* kUsage =
    "usage: truth_nights scenario|suite|nights|judge|row [--kind KIND] [--nodes N] [--rails N] "
    "[--slices N] [--before N] [--takes SHARE] [--first-seed N] [--seeds N] [--runner PROGRAM]";

struct Flags {
  std::string verb{};
  std::string kind = "port";
  std::string runner{};
  CaseChoice choice{};
  std::uint32_t seeds = 1;
};

int complain(const std::string& text) {
  std::fprintf(stderr, "truth_nights: %s\n", printable(text).c_str());
  return kExitUsage;
}

Result<std::uint32_t> whole(const std::string& flag, const std::string& text, std::uint32_t least,
                            std::uint32_t most) {
  char* end = nullptr;
  const unsigned long number = std::strtoul(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < least || number > most)
    return invalid("{} {}: allowed: {} to {}", flag, in_quotes(text), least, most);
  return static_cast<std::uint32_t>(number);
}

// Every flag has a value. kInvalidArgument: one line with the flag and what is allowed.
Result<Flags> flags_of(const std::vector<std::string>& words) {
  Flags flags;
  if (words.empty() || words.size() % 2 == 0) return invalid("{}", kUsage);
  flags.verb = words[0];
  std::map<std::string, std::pair<std::uint32_t*, std::pair<std::uint32_t, std::uint32_t>>> numbers{
      {"--nodes", {&flags.choice.nodes, {kFewestNodes, 4'096}}},
      {"--rails", {&flags.choice.rails, {2, 16}}},
      {"--slices", {&flags.choice.slices, {1, 10'000}}},
      {"--before", {&flags.choice.before, {1, 1'000}}},
      {"--seeds", {&flags.seeds, {1, 100'000}}},
  };
  for (std::size_t i = 1; i < words.size(); i += 2) {
    const std::string& flag = words[i];
    const std::string& value = words[i + 1];
    if (const auto found = numbers.find(flag); found != numbers.end())
      *found->second.first =
          RG_TRY(whole(flag, value, found->second.second.first, found->second.second.second));
    else if (flag == "--first-seed")
      flags.choice.seed = RG_TRY(whole(flag, value, 0, 4'000'000'000));
    else if (flag == "--takes")
      flags.choice.takes = std::strtod(value.c_str(), nullptr);
    else if (flag == "--kind")
      flags.kind = value;
    else if (flag == "--runner")
      flags.runner = value;
    else
      return invalid("{} is not known; {}", flag, kUsage);
  }
  flags.choice.kind = find_case_kind(flags.kind);
  if (flags.choice.kind == nullptr) {
    std::vector<std::string_view> names;
    for (const CaseKind& kind : case_kinds()) names.push_back(kind.name);
    return invalid("--kind {}: allowed: {}", in_quotes(flags.kind), fmt::join(names, ", "));
  }
  if (flags.choice.takes && !(*flags.choice.takes >= 0 && *flags.choice.takes < 1))
    return invalid("--takes: allowed: 0 to below 1");
  if (flags.kind == "two" && flags.choice.nodes < kFewestNodesOfTwo)
    return invalid("--kind two: allowed with {} nodes or more", kFewestNodesOfTwo);
  return flags;
}

// Lines of "FINDING_ID TAB SUSPECT TAB NIGHT OPENED TAB NIGHT CONFIRMED" from stdin.
std::vector<SaidPart> read_said() {
  std::vector<SaidPart> said;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    SaidPart part;
    std::getline(words, part.finding_id, '\t');
    std::getline(words, part.suspect, '\t');
    words >> part.opened >> part.confirmed;
    said.push_back(std::move(part));
  }
  return said;
}

// Prints a row for each seed at once, so that a run that is ended loses one seed alone.
int judge(Flags flags) {
  const auto list = agent::list_kernels(flags.runner, kListSeconds);
  if (!list) return complain(list.error().message);
  const std::vector<KernelInfo> kernels(list->kernels().begin(), list->kernels().end());
  for (std::uint32_t i = 0; i < flags.seeds; ++i, ++flags.choice.seed) {
    const Case one = make_case(flags.choice);
    const auto said = judge_case(one, kernels);
    if (!said) return complain(said.error().message);
    std::puts(row_of(one, answer_of(one, *said)).c_str());
    std::fflush(stdout);
  }
  return 0;
}

int run(const std::vector<std::string>& words) {
  const auto flags = flags_of(words);
  if (!flags) return complain(flags.error().message);
  const Case one = make_case(flags->choice);
  if (flags->verb == "judge") return judge(*flags);
  if (flags->verb == "scenario")
    std::fputs(one.scenario.c_str(), stdout);
  else if (flags->verb == "suite")
    std::fputs(one.suite.c_str(), stdout);
  else if (flags->verb == "nights")
    std::printf("%u\n", one.nights);
  else if (flags->verb == "row")
    std::puts(row_of(one, answer_of(one, read_said())).c_str());
  else
    return complain(kUsage);
  return 0;
}

}  // namespace
}  // namespace railgauge::truth

int main(int argc, char** argv) {
  return railgauge::truth::run(std::vector<std::string>(argv + 1, argv + argc));
}
