// `night:` of a suite: which slice a run took, and of which nodes.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/suite_night.h"
#include "controller/plan/suite/suite_values.h"

namespace railgauge::plan {
namespace {

constexpr std::uint32_t kMaxNumber = 1'000'000'000;  // some 1,900 years of a start each minute

// In suites that an earlier Railgauge stored with their runs: the day was the number. Nobody
// writes it any more.
constexpr std::string_view kNumberOfOld = "day";

}  // namespace

std::optional<Night> read_night(const YamlValue& value) {
  std::vector<std::string> required = night_keys().required;
  if (value.is_map() && value.has_key(std::string(kNumberOfOld)) && !value.has_key("number"))
    std::ranges::replace(required, std::string("number"), std::string(kNumberOfOld));
  const YamlMap map(value, required, night_keys().optional);
  Night night;
  for (const std::string_view name : {std::string_view("number"), kNumberOfOld})
    if (const YamlValue* number = map.find(name))
      night.number = read_count(*number, 0, kMaxNumber).value_or(0);
  const YamlValue* nodes = map.find("nodes");
  if (nodes == nullptr) return std::nullopt;
  const std::string text =
      nodes->text("names of nodes, joined by commas", kMaxSuiteBytes).value_or("");
  std::unordered_set<std::string> named;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string name = text.substr(begin, end - begin);
    if (name.empty() || !named.insert(name).second) {
      nodes->problem(fmt::format("names {} twice, or no node between two commas", in_quotes(name)));
      return std::nullopt;
    }
    night.nodes.push_back(std::move(name));
    begin = end + 1;
  }
  return night;
}

bool has_slices(const Suite& suite) {
  return std::ranges::any_of(suite.stages,
                             [](const Stage& stage) { return stage.placement.slice_of > 1; });
}

std::string with_night(const std::string& text, const Night& night) {
  const SuiteReading before = read_suite(text, "", {});
  if (!before.suite || before.suite->night) return text;
  const std::string key = fmt::format("night: {{number: {}, nodes: \"{}\"}}", night.number,
                                      fmt::join(night.nodes, ","));
  std::vector<std::string> ways{fmt::format("{}\n{}\n", text, key)};
  // A mapping in braces takes no line more, but a key before its last brace.
  if (const std::size_t end = text.rfind('}'); end != std::string::npos)
    for (const char* separator : {", ", " "}) {
      ways.push_back(text);
      ways.back().insert(end, separator + key);
    }
  for (std::string& with : ways)
    if (const auto after = read_suite(with, "", {}); after.suite && after.suite->night) return with;
  return text;
}

bool is_same_suite(const std::string& of_run, const std::string& suite) {
  if (of_run == suite) return true;
  const std::size_t key = of_run.rfind("night: {");
  const std::size_t end = key == std::string::npos ? key : of_run.find('}', key);
  if (end == std::string::npos) return false;
  for (const std::string_view separator : {"\n", ", ", " "}) {
    if (!std::string_view(of_run).substr(0, key).ends_with(separator)) continue;
    std::string without = of_run;
    without.erase(key - separator.size(), end + 1 - key + separator.size());
    if (without == suite || without == suite + "\n") return true;
  }
  return false;
}

}  // namespace railgauge::plan
