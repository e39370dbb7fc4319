#include "controller/plan/suite/suite.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "controller/plan/suite/suite_keys.h"
#include "controller/plan/suite/suite_night.h"
#include "controller/plan/suite/suite_settings.h"
#include "controller/plan/suite/suite_stage.h"
#include "controller/plan/suite/yaml_reader.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::plan {
namespace {

constexpr std::size_t kMaxSummaryBytes = 400;
constexpr std::size_t kMaxDescriptionBytes = 4'000;
constexpr std::int64_t kMaxSeed = 1'000'000'000'000;

void read_version(const YamlValue& value) {
  const auto text = value.text("the number 1");
  if (text && parse_integer(*text) != std::int64_t{kSuiteVersion})
    value.problem(
        fmt::format("is {}; this Railgauge reads version {}", in_quotes(*text), kSuiteVersion));
}

void read_metadata(const YamlValue& value, Suite& suite) {
  const YamlMap map(value, metadata_keys().required, metadata_keys().optional);
  suite.name = read_word(map.find("name"), "the suite's name").value_or("");
  if (const YamlValue* summary = map.find("summary"))
    suite.summary = summary->text("a sentence", kMaxSummaryBytes).value_or("");
  if (const YamlValue* description = map.find("description"))
    suite.description = description->text("some sentences", kMaxDescriptionBytes).value_or("");
  if (const YamlValue* contact = map.find("contact"))
    suite.contact = contact->text("whom to ask", kMaxSummaryBytes).value_or("");
}

void read_seed(const YamlValue& value, Suite& suite) {
  const auto text = value.text("a whole number");
  if (!text) return;
  const auto seed = parse_integer(*text);
  if (seed && *seed >= 0 && *seed <= kMaxSeed)
    suite.seed = static_cast<std::uint64_t>(*seed);
  else
    value.problem(
        fmt::format("is {}; must be a whole number from 0 to {}", in_quotes(*text), kMaxSeed));
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

// Against the kernels' declarations.
Suite read_root(const YamlValue& root, std::span<const KernelInfo> kernels) {
  Suite suite;
  const YamlMap map(root, suite_keys().required, suite_keys().optional);
  if (const YamlValue* version = map.find("version")) read_version(*version);
  if (const YamlValue* metadata = map.find("metadata")) read_metadata(*metadata, suite);
  if (const YamlValue* seed = map.find("seed")) read_seed(*seed, suite);
  if (const YamlValue* night = map.find("night")) suite.night = read_night(*night);
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

SuiteReading unreadable(std::string_view file_name, std::string message) {
  SuiteReading reading;
  reading.problems.push_back(
      {.file = std::string(file_name), .key = "", .message = std::move(message)});
  return reading;
}

}  // namespace

SuiteReading read_suite(std::string_view text, std::string_view file_name,
                        std::span<const KernelInfo> kernels) {
  SuiteReading reading;
  reading.kernels_checked = !kernels.empty();
  Suite suite;
  const YamlBounds bounds{.max_bytes = kMaxSuiteBytes,
                          .max_nodes = kMaxSuiteNodes,
                          .max_depth = kMaxSuiteDepth,
                          .max_problems = kMaxSuiteProblems};
  auto problems =
      read_yaml(text, bounds, [&](const YamlValue& root) { suite = read_root(root, kernels); });
  for (YamlProblem& problem : problems)
    reading.problems.push_back({.file = std::string(file_name),
                                .line = problem.line,
                                .column = problem.column,
                                .key = std::move(problem.key),
                                .message = std::move(problem.message)});
  if (reading.problems.empty()) reading.suite = std::move(suite);
  return reading;
}

SuiteReading read_suite_file(const std::string& path, std::span<const KernelInfo> kernels) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path, fmt::format("open: {}", std::strerror(errno)));
  std::string text(kMaxSuiteBytes + 1, '\0');  // one byte more than allowed shows what is too long
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return unreadable(path, fmt::format("read: {}", std::strerror(errno)));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return read_suite(text, path, kernels);
}

}  // namespace railgauge::plan
