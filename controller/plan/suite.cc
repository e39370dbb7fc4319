#include "controller/plan/suite.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/plan/suite_placement.h"
#include "controller/plan/yaml_reader.h"
#include "kernels/core/params.h"
#include "kernels/core/perftest_profile.h"
#include "kernels/core/text.h"
#include "kernels/core/units.h"

namespace railgauge::plan {
namespace {

constexpr std::size_t kMaxSummaryBytes = 400;
constexpr std::size_t kMaxParameterBytes = 4'096;
constexpr std::size_t kMaxListElements = 256;
constexpr std::size_t kMaxCombinations = 64;  // of what one stage varies

std::optional<std::string> read_word(const YamlValue* value, std::string_view wanted) {
  if (value == nullptr) return std::nullopt;
  auto text = value->text(wanted);
  if (!text || is_word(*text)) return text;
  value->problem(
      fmt::format("must be {}: at most {} letters, digits, and _ - .", wanted, kMaxWordBytes));
  return std::nullopt;
}

// Reads one document against the kernels' declarations.
class SuiteReader {
 public:
  explicit SuiteReader(std::span<const KernelInfo> kernels) : kernels_(kernels) {
    for (const KernelInfo& kernel : kernels) kernel_names_.push_back(kernel.name());
  }

  Suite read(const YamlValue& root) {
    Suite suite;
    const std::vector<std::string> required{"version", "metadata", "stages"};
    const YamlMap map(root, required, {});
    if (const YamlValue* version = map.find("version")) read_version(*version);
    if (const YamlValue* metadata = map.find("metadata")) read_metadata(*metadata, suite);
    if (const YamlValue* stages = map.find("stages"))
      for (const YamlValue& stage : stages->elements("a list of stages", kMaxStages)) {
        read_stages(stage, suite.stages);
        if (suite.stages.size() <= kMaxStages) continue;
        stage.problem(fmt::format("with it, vary makes more than {} stages", kMaxStages));
        break;
      }
    return suite;
  }

 private:
  static void read_version(const YamlValue& value) {
    const auto text = value.text("the number 1");
    if (text && parse_integer(*text) != std::int64_t{kSuiteVersion})
      value.problem(
          fmt::format("is {}; this Railgauge reads version {}", in_quotes(*text), kSuiteVersion));
  }

  static void read_metadata(const YamlValue& value, Suite& suite) {
    const std::vector<std::string> required{"name"};
    const std::vector<std::string> optional{"summary"};
    const YamlMap map(value, required, optional);
    suite.name = read_word(map.find("name"), "the suite's name").value_or("");
    if (const YamlValue* summary = map.find("summary"))
      suite.summary = summary->text("a sentence", kMaxSummaryBytes).value_or("");
  }

  // One stage, or with `vary` one for each combination of its values.
  void read_stages(const YamlValue& value, std::vector<Stage>& stages) const {
    const std::vector<std::string> required{"kernel", "placement"};
    const std::vector<std::string> optional{
        "name", "profile", "parameters", "deadline_seconds", "raw_samples", "vary"};
    const YamlMap map(value, required, optional);
    Stage stage;
    stage.kernel = read_word(map.find("kernel"), "a kernel's name").value_or("");
    stage.name = read_word(map.find("name"), "the stage's name").value_or(stage.kernel);
    const KernelInfo* kernel = find_kernel(map.find("kernel"), stage.kernel);
    if (const YamlValue* parameters = map.find("parameters"))
      read_parameters(*parameters, kernel, stage);
    if (const YamlValue* profile = map.find("profile")) read_profile(*profile, stage);
    if (const YamlValue* placement = map.find("placement"))
      read_placement(*placement, kernel, stage);
    if (const YamlValue* deadline = map.find("deadline_seconds")) read_deadline(*deadline, stage);
    if (const YamlValue* raw = map.find("raw_samples")) read_raw_samples(*raw, stage);
    const YamlValue* vary = map.find("vary");
    if (vary != nullptr && map.find("profile") != nullptr)
      return vary->key_problem("and profile exclude each other: a profile fits one set of values");
    std::vector<Stage> all{stage};
    if (vary != nullptr) all = combinations(*vary, kernel, stage);
    check_devices(map.find("placement"), all);
    std::ranges::move(all, std::back_inserter(stages));
  }

  static void check_devices(const YamlValue* placement, std::span<const Stage> stages) {
    for (const Stage& stage : stages) {
      const auto devices = stage.parameters.find(kDevicesParameter);
      if (devices == stage.parameters.end() || placement == nullptr) continue;
      if (auto problem = devices_problem(stage.placement, devices->second))
        return placement->problem(std::move(*problem));
    }
  }

  // The last parameter changes fastest.
  static std::vector<Stage> combinations(const YamlValue& value, const KernelInfo* kernel,
                                         const Stage& stage) {
    std::vector<Stage> all{stage};
    for (const auto& [name, given] : value.entries("a mapping from parameter to its values")) {
      const auto declared = find_parameter(name, given, kernel);
      if (!declared) continue;
      if (stage.parameters.contains(name)) {
        given.key_problem("stands in parameters too");
        continue;
      }
      std::vector<std::string> texts;
      for (const YamlValue& element : given.elements("a list of values", kMaxListElements))
        if (auto text = read_parameter(element, *declared)) texts.push_back(std::move(*text));
      std::vector<Stage> more;
      for (const Stage& one : all)
        for (const std::string& text : texts) more.push_back(with_parameter(one, name, text));
      if (more.size() > kMaxCombinations)
        given.problem(fmt::format("makes {} combinations; at most {} are allowed", more.size(),
                                  kMaxCombinations));
      else if (!more.empty())
        all = std::move(more);
    }
    return all;
  }

  static Stage with_parameter(Stage stage, const std::string& name, const std::string& text) {
    stage.parameters[name] = text;
    return stage;
  }

  [[nodiscard]] const KernelInfo* find_kernel(const YamlValue* value,
                                              const std::string& name) const {
    if (name.empty() || kernels_.empty()) return nullptr;
    const auto found = std::ranges::find(kernels_, name, &KernelInfo::name);
    if (found != kernels_.end()) return &*found;
    value->problem(fmt::format("unknown kernel {}; known: {}{}", in_quotes(name),
                               fmt::join(kernel_names_, ", "), did_you_mean(name, kernel_names_)));
    return nullptr;
  }

  static void read_parameters(const YamlValue& value, const KernelInfo* kernel, Stage& stage) {
    for (const auto& [name, given] : value.entries("a mapping from parameter to value")) {
      const auto declared = find_parameter(name, given, kernel);
      if (!declared) continue;
      if (auto text = read_parameter(given, *declared)) stage.parameters[name] = std::move(*text);
    }
  }

  // Its declaration, nullptr where no declarations are at hand; absent when it cannot be one.
  static std::optional<const ParameterInfo*> find_parameter(const std::string& name,
                                                            const YamlValue& given,
                                                            const KernelInfo* kernel) {
    if (kernel != nullptr) {
      const auto& all = kernel->parameters();
      const auto found = std::ranges::find(all, name, &ParameterInfo::name);
      if (found != all.end()) return &*found;
      given.key_problem(unknown_parameter(name, *kernel));
      return std::nullopt;
    }
    if (is_word(name)) return nullptr;
    given.key_problem("is no parameter's name: letters, digits, and _ - . are allowed");
    return std::nullopt;
  }

  // After the parameters, which rule.
  static void read_profile(const YamlValue& value, Stage& stage) {
    const auto name = value.text("a profile's name");
    if (!name || stage.kernel.empty()) return;
    auto merged = with_profile(*name, stage.kernel, stage.parameters);
    if (merged)
      stage.parameters = std::move(*merged);
    else
      value.problem(std::move(merged.error().message));
  }

  static std::string unknown_parameter(const std::string& name, const KernelInfo& kernel) {
    std::vector<std::string> names;
    for (const ParameterInfo& parameter : kernel.parameters()) names.push_back(parameter.name());
    return fmt::format("unknown parameter of {}; allowed here: {}{}", kernel.name(),
                       fmt::join(names, ", "), did_you_mean(name, names));
  }

  static std::optional<std::string> read_parameter(const YamlValue& given,
                                                   const ParameterInfo* declared) {
    std::optional<std::string> text;
    if (given.is_sequence()) {
      if (declared != nullptr && declared->type() != "bytes_list") {
        given.problem(fmt::format("takes one value of type {}, not a list", declared->type()));
        return std::nullopt;
      }
      text = join_list(given);
    } else {
      text = given.text("a single value or a list of them", kMaxParameterBytes);
    }
    if (!text || declared == nullptr) return text;
    auto checked = check_parameter(*declared, *text);
    if (checked) return std::move(*checked);
    given.problem(std::move(checked.error().message));
    return std::nullopt;
  }

  static std::optional<std::string> join_list(const YamlValue& given) {
    std::string joined;
    const auto elements = given.elements("a list of values", kMaxListElements);
    for (const YamlValue& element : elements) {
      const auto text = element.text("a single value");
      if (!text) return std::nullopt;
      if (text->find(',') != std::string::npos) {
        element.problem("an element of a list has no comma");
        return std::nullopt;
      }
      joined += (joined.empty() ? "" : ",") + *text;
    }
    return elements.empty() ? std::nullopt : std::optional(joined);
  }

  static void read_deadline(const YamlValue& value, Stage& stage) {
    const auto text = value.text("a number of seconds");
    if (!text) return;
    const auto seconds = parse_number(*text);
    if (seconds && *seconds > 0 && *seconds <= kMaxDeadlineSeconds)
      stage.deadline_seconds = *seconds;
    else
      value.problem(fmt::format("is {}; must be a number of seconds above 0 and at most {}",
                                in_quotes(*text), kMaxDeadlineSeconds));
  }

  static void read_raw_samples(const YamlValue& value, Stage& stage) {
    const auto text = value.text("true or false");
    if (!text) return;
    stage.raw_samples = *text == "true";
    if (!stage.raw_samples && *text != "false")
      value.problem(fmt::format("is {}; must be true or false", in_quotes(*text)));
  }

  std::span<const KernelInfo> kernels_;
  std::vector<std::string> kernel_names_;
};

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
  auto problems = read_yaml(
      text, bounds, [&](const YamlValue& root) { suite = SuiteReader(kernels).read(root); });
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
