#include "controller/plan/suite/suite_settings.h"

#include <algorithm>

#include <fmt/format.h>

#include "controller/plan/suite/suite_placement.h"
#include "controller/plan/suite/suite_values.h"
#include "kernels/core/text/units.h"

namespace railgauge::plan {
namespace {

constexpr std::size_t kMaxLimits = 100;
constexpr std::size_t kMaxChecks = 200;
constexpr std::uint32_t kMaxTasksAtOnce = 1'000'000;

template <class To, class Value>
void put(To& to, const std::optional<Value>& value) {
  if (value) to = static_cast<To>(*value);
}

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
  const YamlMap map(value, stop_keys().required, stop_keys().optional);
  if (const auto* found = map.find("failures"))
    put(stop.failures, read_count(*found, 0, kMaxTasksAtOnce));
  if (const auto* found = map.find("failed_share"))
    put(stop.failed_share, read_number(*found, 0, 1));
  if (const auto* found = map.find("share_after"))
    put(stop.share_after, read_count(*found, 1, kMaxTasksAtOnce));
}

void read_kindness(const YamlValue& value, run::Kindness& kindness) {
  const YamlMap map(value, kindness_keys().required, kindness_keys().optional);
  if (const auto* found = map.find("exclusive")) put(kindness.exclusive, read_boolean(*found));
  if (const auto* found = map.find("bandwidth_tasks_per_leaf"))
    put(kindness.bandwidth_tasks_per_leaf, read_count(*found, 0, kMaxTasksAtOnce));
  if (const auto* found = map.find("cross_leaf_share"))
    put(kindness.cross_leaf_share, read_number(*found, 0, 1));
  if (const auto* found = map.find("max_collective_nodes"))
    put(kindness.max_collective_nodes, read_count(*found, 0, kMaxTasksAtOnce));
  if (const auto* found = map.find("wait")) put(kindness.wait_seconds, read_seconds(*found));
}

// By what the metric's name ends in.
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

bool knows_metric(const YamlValue& value, const KernelInfo* kernel, const std::string& metric) {
  if (kernel == nullptr) return true;
  const std::vector<std::string> known(kernel->metrics().begin(), kernel->metrics().end());
  if (std::ranges::find(known, metric) != known.end()) return true;
  value.problem(fmt::format("{} is no metric of {}; allowed here: {}{}", in_quotes(metric),
                            kernel->name(), one_of(known), did_you_mean(metric, known)));
  return false;
}

std::optional<Limit> read_limit(const YamlValue& value, const KernelInfo* kernel) {
  const YamlMap map(value, limit_keys().required, limit_keys().optional);
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

PreflightGate read_preflight(const YamlValue& value) {
  PreflightGate gate;
  const YamlMap map(value, preflight_keys().required, preflight_keys().optional);
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
  constexpr double kLeast = 0.0001;
  constexpr double kMost = 0.9;
  const YamlMap map(value, bounds_keys().required, bounds_keys().optional);
  std::map<std::string, double> bounds;
  for (const std::string& statistic : bounds_keys().optional)
    if (const auto* found = map.find(statistic))
      if (const auto bound = read_number(*found, kLeast, kMost)) bounds[statistic] = *bound;
  return bounds;
}

run::RoundPolicy read_rounds(const YamlValue& value) {
  run::RoundPolicy policy;
  const YamlMap map(value, rounds_keys().required, rounds_keys().optional);
  if (const auto* found = map.find("quorum")) put(policy.quorum, read_number(*found, 0, 1));
  if (const auto* found = map.find("straggler_factor"))
    put(policy.straggler_factor, read_number(*found, 0, 1000));
  if (const auto* found = map.find("straggler_slack"))
    put(policy.straggler_slack_seconds, read_seconds(*found));
  if (const auto* found = map.find("deadline"))
    put(policy.round_deadline_seconds, read_seconds(*found));
  if (const auto* found = map.find("settle")) put(policy.settle_seconds, read_seconds(*found));
  if (const auto* found = map.find("max_attempts"))
    put(policy.max_attempts, read_count(*found, 1, 10));
  if (const auto* found = map.find("max_tasks"))
    put(policy.max_tasks, read_count(*found, 0, kMaxTasksAtOnce));
  if (const auto* found = map.find("max_tasks_per_leaf"))
    put(policy.max_tasks_per_leaf, read_count(*found, 0, kMaxTasksAtOnce));
  if (const auto* found = map.find("drill_down")) put(policy.drill_down, read_boolean(*found));
  if (const auto* found = map.find("stop")) read_stop(*found, policy.stop);
  if (const auto* found = map.find("kindness")) read_kindness(*found, policy.kindness);
  return policy;
}

std::vector<Limit> read_limits(const YamlValue& value, const KernelInfo* kernel) {
  std::vector<Limit> limits;
  for (const YamlValue& element : value.elements("a list of limits", kMaxLimits))
    if (auto limit = read_limit(element, kernel)) limits.push_back(std::move(*limit));
  return limits;
}

}  // namespace railgauge::plan
