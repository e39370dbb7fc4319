#include "controller/plan/suite/suite.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/plan/suite/suite_keys.h"
#include "controller/plan/suite/suite_reader.h"
#include "controller/plan/suite/yaml_reader.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::plan {
namespace {

void read_metadata(const YamlValue& value, Suite& suite) {
  const YamlMap map = map_of(value, kMetadataKeys);
  suite.name = read_word(map.find("name"), "the suite's name").value_or("");
  suite.summary = read_text(map, kMetadataKeys, "summary", "a sentence");
  suite.description = read_text(map, kMetadataKeys, "description", "some sentences");
  suite.contact = read_text(map, kMetadataKeys, "contact", "whom to ask");
}

// "3/96": of every stage of all pairs the third of 96 slices of its rounds.
void read_slice(const YamlValue& value, Suite& suite) {
  const auto text = value.text("a slice K/N");
  if (!text) return;
  const std::size_t stroke = text->find('/');
  const auto which = parse_integer(text->substr(0, stroke));
  const auto slices =
      parse_integer(stroke == std::string::npos ? std::string() : text->substr(stroke + 1));
  if (!which || !slices || *slices < 2 || *slices > kMaxRunSlices || *which < 1 || *which > *slices)
    return value.problem(fmt::format("is {}; must be K/N, N from 2 to {}, K from 1 to N",
                                     in_quotes(*text), kMaxRunSlices));
  bool any = false;
  for (Stage& stage : suite.stages) {
    Placement& placement = stage.placement;
    if (placement.kind != PlacementKind::kPairs || placement.pairs != PairChoice::kAll) continue;
    placement.slice_of = static_cast<std::uint32_t>(*slices);
    placement.slice = static_cast<std::uint32_t>(*which - 1);
    any = true;
  }
  if (!any) value.key_problem("no stage has pairs: all, of which slices are taken");
}

// In suites that an earlier Railgauge stored with their runs: the day was the number. Nobody
// writes it any more.
constexpr std::string_view kNumberOfOld = "day";

// Node names are one text: a list of 10,000 names would exceed the bound of YAML values. Absent: a
// problem was reported.
std::optional<std::vector<std::string>> read_names(const YamlValue& value) {
  std::vector<std::string> names;
  const std::string text =
      value.text("names of nodes, joined by commas", kMaxSuiteBytes).value_or("");
  std::unordered_set<std::string> named;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string name = text.substr(begin, end - begin);
    if (name.empty() || !named.insert(name).second) {
      value.problem(fmt::format("names {} twice, or no node between two commas", in_quotes(name)));
      return std::nullopt;
    }
    names.push_back(std::move(name));
    begin = end + 1;
  }
  return names;
}

// Absent: a problem was reported.
std::optional<ProvedNodes> read_proof(const YamlValue& value) {
  const YamlMap map = map_of(value, kProveKeys);
  const YamlValue* nodes = map.find("nodes");
  if (nodes == nullptr) return std::nullopt;
  auto proved = read_names(*nodes);
  const YamlValue* others = map.find("partners");
  auto partners =
      others == nullptr ? std::optional(std::vector<std::string>()) : read_names(*others);
  if (!proved || !partners) return std::nullopt;
  return ProvedNodes{.nodes = std::move(*proved), .partners = std::move(*partners)};
}

std::optional<SliceOrigin> read_night(const YamlValue& value) {
  std::vector<std::string> required = kNightKeys.required;
  if (value.is_map() && value.has_key(std::string(kNumberOfOld)) && !value.has_key("number"))
    std::ranges::replace(required, std::string("number"), std::string(kNumberOfOld));
  const YamlMap map(value, required, kNightKeys.optional);
  SliceOrigin night;
  for (const std::string_view name : {std::string_view("number"), kNumberOfOld})
    if (const YamlValue* number = map.find(name))
      night.number =
          static_cast<std::uint64_t>(read_scalar(*number, kNightKeys.row("number")).value_or(0));
  const YamlValue* nodes = map.find("nodes");
  if (nodes == nullptr) return std::nullopt;
  auto names = read_names(*nodes);
  if (!names) return std::nullopt;
  night.nodes = std::move(*names);
  return night;
}

// Against the kernels' declarations.
Suite read_root(const YamlValue& root, std::span<const KernelInfo> kernels) {
  Suite suite;
  const YamlMap map = map_of(root, kSuiteKeys);
  if (const YamlValue* version = map.find("version")) read_version(*version, kSuiteVersion);
  if (const YamlValue* metadata = map.find("metadata")) read_metadata(*metadata, suite);
  read_fields(map, kSuiteKeys, suite);
  if (const YamlValue* night = map.find("night")) suite.night = read_night(*night);
  if (const YamlValue* prove = map.find("prove")) suite.prove = read_proof(*prove);
  if (const YamlValue* preflight = map.find("preflight"))
    suite.preflight = read_preflight(*preflight);
  if (const YamlValue* rounds = map.find("rounds")) suite.rounds = read_rounds(*rounds);
  if (const YamlValue* bounds = map.find("bounds")) suite.bounds = read_bounds(*bounds);
  const YamlValue* stages = map.find("stages");
  if (stages == nullptr) return suite;
  std::uint32_t block = 0;
  for (const YamlValue& stage : stages->elements("a list of stages", kMaxStages)) {
    read_stage(stage, kernels, ++block, suite.stages);
    if (suite.stages.size() <= kMaxStages) continue;
    stage.problem(fmt::format("with it, vary makes more than {} stages", kMaxStages));
    break;
  }
  if (const YamlValue* slice = map.find("slice")) read_slice(*slice, suite);
  return suite;
}

}  // namespace

SuiteReading read_suite(std::string_view text, std::string_view file_name,
                        std::span<const KernelInfo> kernels) {
  SuiteReading reading;
  reading.kernels_checked = !kernels.empty();
  Suite suite;
  const YamlBounds bounds{.max_bytes = kMaxSuiteBytes, .max_problems = kMaxSuiteProblems};
  reading.problems = read_yaml(text, file_name, bounds,
                               [&](const YamlValue& root) { suite = read_root(root, kernels); });
  if (reading.problems.empty()) reading.suite = std::move(suite);
  return reading;
}

bool has_slices(const Suite& suite) {
  return std::ranges::any_of(suite.stages,
                             [](const Stage& stage) { return stage.placement.slice_of > 1; });
}

namespace {

// Appends a line; a text in flow style takes the key before its last brace. Each way is tried by
// reading the result. `has`: whether a suite has the key.
std::string with_key(const std::string& text, const std::string& key, bool (*has)(const Suite&)) {
  const SuiteReading before = read_suite(text, "", {});
  if (!before.suite || has(*before.suite)) return text;
  std::vector<std::string> ways{fmt::format("{}\n{}\n", text, key)};
  // A mapping in braces takes no line more, but a key before its last brace.
  if (const std::size_t end = text.rfind('}'); end != std::string::npos)
    for (const char* separator : {", ", " "}) {
      ways.push_back(text);
      ways.back().insert(end, separator + key);
    }
  for (std::string& with : ways)
    if (const auto after = read_suite(with, "", {}); after.suite && has(*after.suite)) return with;
  return text;
}

}  // namespace

std::string with_night(const std::string& text, const SliceOrigin& night) {
  return with_key(text,
                  fmt::format("night: {{number: {}, nodes: \"{}\"}}", night.number,
                              fmt::join(night.nodes, ",")),
                  [](const Suite& suite) { return suite.night.has_value(); });
}

std::string with_proof(const std::string& text, const ProvedNodes& prove) {
  const std::string partners =
      prove.partners.empty() ? ""
                             : fmt::format(", partners: \"{}\"", fmt::join(prove.partners, ","));
  return with_key(text,
                  fmt::format("prove: {{nodes: \"{}\"{}}}", fmt::join(prove.nodes, ","), partners),
                  [](const Suite& suite) { return suite.prove.has_value(); });
}

// Removes the key that with_night() may have added, and compares the texts.
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

// The endpoint of a series must be the port that the kernel uses.
std::optional<std::string> devices_problem(const Placement& placement, const std::string& devices) {
  if (devices.empty() || !placement.chooses_port()) return std::nullopt;
  const std::string where = placement.kind == PlacementKind::kLoopback ? std::string("loopback")
                            : placement.each.empty() ? "endpoint: " + placement.endpoint
                                                     : "each: " + placement.each;
  return fmt::format(
      "parameter devices: is {}, but {} chooses the port; leave devices out, or place by pairs: "
      "all without endpoint",
      in_quotes(devices), where);
}

}  // namespace railgauge::plan
