#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/plan/suite/suite_keys.h"
#include "controller/plan/suite/suite_reader.h"
#include "kernels/core/params.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/osu/profile.h"
#include "kernels/peers/perftest/profile.h"

namespace railgauge::plan {

namespace {

constexpr std::size_t kMaxChecks = 200;

// Ids of checks; a repeated id is a problem.
std::vector<std::string> read_checks(const YamlValue& value) {
  std::vector<std::string> checks;
  for (const YamlValue& element : value.elements("a list of preflight checks", kMaxChecks)) {
    const auto id = element.text("a preflight check's id");
    if (id && !is_word(*id))
      element.problem(fmt::format("is {}; no preflight check's id", in_quotes(*id)));
    else if (id && std::ranges::find(checks, *id) != checks.end())
      element.problem("is in the list already");
    else if (id)
      checks.push_back(*id);
  }
  return checks;
}

// Parses a figure in the unit that the metric's name ends in.
std::optional<double> read_figure(const YamlValue& value, const std::string& metric) {
  const auto text = value.text("a figure with its unit");
  if (!text) return std::nullopt;
  const Result<double> figure = metric.ends_with("_bytes_per_second") ? parse_rate(*text)
                                : metric.ends_with("_ns")             ? parse_duration_ns(*text)
                                                                      : parse_number(*text);
  if (figure) return *figure;
  value.problem(figure.error().message);
  return std::nullopt;
}

// A typing error in a metric's name would leave a limit without effect.
bool knows_metric(const YamlValue& value, const KernelInfo* kernel, const std::string& metric) {
  if (kernel == nullptr) return true;
  const std::vector<std::string> known(kernel->metrics().begin(), kernel->metrics().end());
  if (std::ranges::find(known, metric) != known.end()) return true;
  value.problem(fmt::format("{} is no metric of {}; allowed here: {}{}", in_quotes(metric),
                            kernel->name(), one_of(known), did_you_mean(metric, known)));
  return false;
}

// Floor and ceiling are optional, but one of them must be present.
std::optional<Limit> read_limit(const YamlValue& value, const KernelInfo* kernel) {
  const YamlMap map = map_of(value, kLimitKeys);
  const YamlValue* name = map.find("metric");
  const auto metric = name == nullptr ? std::nullopt : name->text("a metric of the kernel");
  if (!metric || !knows_metric(*name, kernel, *metric)) return std::nullopt;
  Limit limit{.metric = *metric};
  if (const auto* size = map.find("size"))
    if (const auto text = size->text("a size, as in 64KiB")) {
      const auto bytes = parse_bytes(*text);
      if (bytes)
        limit.size_bytes = *bytes;
      else
        size->problem(bytes.error().message);
    }
  if (const auto* floor = map.find("floor")) limit.floor = read_figure(*floor, *metric);
  if (const auto* ceiling = map.find("ceiling")) limit.ceiling = read_figure(*ceiling, *metric);
  if (map.find("floor") == nullptr && map.find("ceiling") == nullptr)
    value.problem("needs a floor or a ceiling");
  if (limit.floor && limit.ceiling && *limit.floor > *limit.ceiling)
    value.problem("has a floor above its ceiling");
  return limit;
}

// `kernel` checks the metrics' names; nullptr skips that check.
std::vector<Limit> read_limits(const YamlValue& value, const KernelInfo* kernel) {
  std::vector<Limit> limits;
  for (const YamlValue& element :
       value.elements("a list of limits", static_cast<std::size_t>(kStageKeys.row("limits").most)))
    if (auto limit = read_limit(element, kernel)) limits.push_back(std::move(*limit));
  return limits;
}

}  // namespace

// Only required checks may be allowed to be unknown.
PreflightGate read_preflight(const YamlValue& value) {
  PreflightGate gate;
  const YamlMap map = map_of(value, kPreflightKeys);
  if (const auto* require = map.find("require")) gate.require = read_checks(*require);
  const YamlValue* allowed = map.find("allow_unknown");
  if (allowed == nullptr) return gate;
  gate.allow_unknown = read_checks(*allowed);
  for (const std::string& id : gate.allow_unknown)
    if (std::ranges::find(gate.require, id) == gate.require.end())
      allowed->problem(
          fmt::format("{} is not in require: only a required check can be unknown", in_quotes(id)));
  return gate;
}

std::map<std::string, double> read_bounds(const YamlValue& value) {
  const YamlMap map = map_of(value, kBoundsKeys);
  std::map<std::string, double> bounds;
  for (const std::string& statistic : kBoundsKeys.optional)
    if (const auto* found = map.find(statistic))
      if (const auto bound = read_scalar(*found, kBoundsKeys.row(statistic)))
        bounds[statistic] = *bound;
  return bounds;
}

run::RoundPolicy read_rounds(const YamlValue& value) {
  run::RoundPolicy policy;
  const YamlMap map = map_of(value, kRoundsKeys);
  read_fields(map, kRoundsKeys, policy);
  if (const auto* found = map.find("stop"))
    read_fields(map_of(*found, kStopKeys), kStopKeys, policy.stop);
  if (const auto* found = map.find("kindness"))
    read_fields(map_of(*found, kKindnessKeys), kKindnessKeys, policy.kindness);
  return policy;
}

namespace {

constexpr std::size_t kMaxParameterBytes = 4'096;
constexpr std::size_t kMaxListElements = 256;
// Combinations that `vary` of one stage may make.
constexpr std::size_t kMaxCombinations = 64;

// The problem of an unknown name, with all allowed ones and a suggestion.
std::string unknown_parameter(const std::string& name, const KernelInfo& kernel) {
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : kernel.parameters()) names.push_back(parameter.name());
  return fmt::format("unknown parameter of {}; allowed here: {}{}", kernel.name(),
                     fmt::join(names, ", "), did_you_mean(name, names));
}

// Finds a parameter's declaration; nullptr when no declarations are available. Absent, with a
// problem: the kernel lacks the parameter, or the name is no word.
std::optional<const ParameterInfo*> find_declared(const std::string& name, const YamlValue& given,
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

// A YAML list as the comma-separated text that kernels take.
std::optional<std::string> join_list(const YamlValue& given) {
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

// The text of a parameter, checked and made canonical by its declaration.
std::optional<std::string> read_parameter(const YamlValue& given, const ParameterInfo* declared) {
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

// A copy with one parameter more.
Stage with_parameter(Stage stage, const std::string& name, const std::string& text) {
  stage.parameters[name] = text;
  return stage;
}

void read_parameters(const YamlValue& value, const KernelInfo* kernel, Stage& stage) {
  for (const auto& [name, given] : value.entries("a mapping from parameter to value")) {
    const auto declared = find_declared(name, given, kernel);
    if (!declared) continue;
    if (auto text = read_parameter(given, *declared)) stage.parameters[name] = std::move(*text);
  }
}

// Parameters of the stop rule; a parameter that is also in `parameters` is a problem. Call it after
// read_parameters().
void read_precision(const YamlValue& value, const KernelInfo* kernel, Stage& stage) {
  const auto allowed = stop_rule_parameters();
  for (const auto& [name, given] : value.entries("a mapping from parameter to value")) {
    if (std::ranges::find(allowed, name) == allowed.end()) {
      given.key_problem(fmt::format("is no parameter of the stop rule; allowed here: {}{}",
                                    fmt::join(allowed, ", "), did_you_mean(name, allowed)));
      continue;
    }
    const auto declared = find_declared(name, given, kernel);
    if (!declared) continue;
    if (stage.parameters.contains(name))
      given.key_problem("is in parameters too");
    else if (auto text = read_parameter(given, *declared))
      stage.parameters[name] = std::move(*text);
  }
}

// Merges a profile below the parameters of the stage; call it after these are read.
void use_profile(const YamlValue& value, const std::string& name, Stage& stage) {
  if (stage.kernel.empty()) return;
  auto merged = with_profile(name, stage.kernel, stage.parameters);
  if (merged)
    stage.parameters = std::move(*merged);
  else
    value.problem(std::move(merged.error().message));
}

void read_profile(const YamlValue& value, Stage& stage) {
  if (const auto name = value.text("a profile's name")) use_profile(value, *name, stage);
}

// The cross product of all varied parameters, bounded while it grows.
std::vector<Stage> combinations(const YamlValue& value, const KernelInfo* kernel,
                                const Stage& stage) {
  std::vector<Stage> all{stage};
  for (const auto& [name, given] : value.entries("a mapping from parameter to its values")) {
    const auto declared = find_declared(name, given, kernel);
    if (!declared) continue;
    if (stage.parameters.contains(name)) {
      given.key_problem("is in parameters too");
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

// The declaration of the kernel; nullptr, with a problem, for an unknown name.
const KernelInfo* find_kernel(const YamlValue* value, const std::string& name,
                              std::span<const KernelInfo> kernels) {
  if (name.empty() || kernels.empty()) return nullptr;
  const auto found = std::ranges::find(kernels, name, &KernelInfo::name);
  if (found != kernels.end()) return &*found;
  std::vector<std::string> names;
  for (const KernelInfo& kernel : kernels) names.push_back(kernel.name());
  value->problem(fmt::format("unknown kernel {}; known: {}{}", in_quotes(name),
                             fmt::join(names, ", "), did_you_mean(name, names)));
  return nullptr;
}

// MPI's own spelling or an OSU program's name (true: with that program's counts) becomes ours.
bool read_other_name(std::string& kernel) {
  const OsuProgram* osu = find_osu_program(kernel);
  const OsuProgram* known = osu != nullptr ? osu : find_mpi_spelling(kernel);
  if (known != nullptr) kernel = known->kernel;
  return osu != nullptr;
}

// Seconds above 0, as a plain number: this key has no unit.
void read_deadline(const YamlValue& value, Stage& stage) {
  const auto text = value.text("a number of seconds");
  if (!text) return;
  const auto seconds = parse_number(*text);
  if (seconds && *seconds > 0 && *seconds <= kMaxDeadlineSeconds)
    stage.deadline_seconds = *seconds;
  else
    value.problem(fmt::format("is {}; must be a number of seconds above 0 and at most {}",
                              in_quotes(*text), kMaxDeadlineSeconds));
}

// One problem for the stage, however many combinations have it.
void check_devices(const YamlValue* placement, std::span<const Stage> stages) {
  for (const Stage& stage : stages) {
    const auto devices = stage.parameters.find(kDevicesParameter);
    if (devices == stage.parameters.end() || placement == nullptr) continue;
    if (auto problem = devices_problem(stage.placement, devices->second))
      return placement->problem(std::move(*problem));
  }
}

// Reads deadline, launches, limits and failure policy of the stage's tasks.
void read_strictness(const YamlMap& map, const KernelInfo* kernel, Stage& stage) {
  if (const YamlValue* deadline = map.find("deadline_seconds")) read_deadline(*deadline, stage);
  read_fields(map, kStageKeys, stage);
  if (const YamlValue* limits = map.find("limits")) stage.limits = read_limits(*limits, kernel);
}

}  // namespace

std::optional<std::string> read_word(const YamlValue* value, std::string_view wanted) {
  if (value == nullptr) return std::nullopt;
  auto text = value->text(wanted);
  if (!text || is_word(*text)) return text;
  value->problem(
      fmt::format("must be {}: at most {} letters, digits, and _ - .", wanted, kMaxWordBytes));
  return std::nullopt;
}

// Order matters: the profile and the placement depend on the parameters, `vary` on everything.
void read_stage(const YamlValue& value, std::span<const KernelInfo> kernels, std::uint32_t block,
                std::vector<Stage>& stages) {
  const YamlMap map = map_of(value, kStageKeys);
  Stage stage{.block = block};
  stage.kernel = read_word(map.find("kernel"), "a kernel's name").value_or("");
  const bool osu = read_other_name(stage.kernel);
  stage.name = read_word(map.find("name"), "the stage's name").value_or(stage.kernel);
  const KernelInfo* kernel = find_kernel(map.find("kernel"), stage.kernel, kernels);
  if (const YamlValue* parameters = map.find("parameters"))
    read_parameters(*parameters, kernel, stage);
  if (const YamlValue* precision = map.find("precision")) read_precision(*precision, kernel, stage);
  if (const YamlValue* profile = map.find("profile"))
    read_profile(*profile, stage);
  else if (osu)
    use_profile(*map.find("kernel"), std::string(kOsuProfile), stage);
  if (const YamlValue* placement = map.find("placement")) read_placement(*placement, kernel, stage);
  read_strictness(map, kernel, stage);
  const YamlValue* vary = map.find("vary");
  if (vary != nullptr && map.find("profile") != nullptr)
    return vary->key_problem("and profile exclude each other: a profile fits one set of values");
  std::vector<Stage> all{stage};
  if (vary != nullptr) all = combinations(*vary, kernel, stage);
  check_devices(map.find("placement"), all);
  std::ranges::move(all, std::back_inserter(stages));
}

}  // namespace railgauge::plan
