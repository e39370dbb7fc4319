
#include <algorithm>

#include <fmt/format.h>

#include "controller/plan/suite/suite_reader.h"
#include "controller/plan/suite/suite_values.h"
#include "kernels/core/text/units.h"

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
      element.problem("stands in the list already");
    else if (id)
      checks.push_back(*id);
  }
  return checks;
}

void read_stop(const YamlValue& value, run::StopBudget& stop) {
  const YamlMap map = map_of(value, stop_keys());
  read_fields(map, stop_keys(), stop);
}

void read_kindness(const YamlValue& value, run::Kindness& kindness) {
  const YamlMap map = map_of(value, kindness_keys());
  read_fields(map, kindness_keys(), kindness);
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
  const YamlMap map = map_of(value, limit_keys());
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

}  // namespace

// Only required checks may be allowed to be unknown.
PreflightGate read_preflight(const YamlValue& value) {
  PreflightGate gate;
  const YamlMap map = map_of(value, preflight_keys());
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
  const YamlMap map = map_of(value, bounds_keys());
  std::map<std::string, double> bounds;
  for (const std::string& statistic : bounds_keys().optional)
    if (const auto* found = map.find(statistic))
      if (const auto bound = read_scalar(*found, bounds_keys().row(statistic)))
        bounds[statistic] = *bound;
  return bounds;
}

run::RoundPolicy read_rounds(const YamlValue& value) {
  run::RoundPolicy policy;
  const YamlMap map = map_of(value, rounds_keys());
  read_fields(map, rounds_keys(), policy);
  if (const auto* found = map.find("stop")) read_stop(*found, policy.stop);
  if (const auto* found = map.find("kindness")) read_kindness(*found, policy.kindness);
  return policy;
}

std::vector<Limit> read_limits(const YamlValue& value, const KernelInfo* kernel) {
  std::vector<Limit> limits;
  for (const YamlValue& element : value.elements(
           "a list of limits", static_cast<std::size_t>(stage_keys().row("limits").most)))
    if (auto limit = read_limit(element, kernel)) limits.push_back(std::move(*limit));
  return limits;
}

}  // namespace railgauge::plan
