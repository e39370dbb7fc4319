#include "controller/plan/suite/suite_stage.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/plan/suite/suite_parameters.h"
#include "controller/plan/suite/suite_placement.h"
#include "controller/plan/suite/suite_settings.h"
#include "controller/plan/suite/suite_values.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/osu/profile.h"

namespace railgauge::plan {
namespace {

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
  read_key(map, stage_keys(), "raw_samples", stage.raw_samples);
  read_key(map, stage_keys(), "repetitions", stage.repetitions);
  if (const YamlValue* limits = map.find("limits")) stage.limits = read_limits(*limits, kernel);
  read_key(map, stage_keys(), "time_budget", stage.time_budget_seconds);
  if (const YamlValue* policy = map.find("on_failure"))
    stage.on_failure = read_one_of(*policy, on_failure_words()).value_or(run::OnFailure::kContinue);
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

void read_stage(const YamlValue& value, std::span<const KernelInfo> kernels, std::uint32_t block,
                std::vector<Stage>& stages) {
  const YamlMap map(value, stage_keys().required, stage_keys().optional);
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
