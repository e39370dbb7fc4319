#include "controller/stats/metric_traits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::analysis {
namespace {

// The practical bound of one statistic. Low slots of a rate are as noisy as the tail of a latency.
struct Bound {
  std::string_view statistic;
  double delta;
};
constexpr std::array kBounds{Bound{kRateStatistic, 0.01}, Bound{kFlowStatistic, 0.01},
                             Bound{"p10", 0.05},          Bound{"p1", 0.10},
                             Bound{"median", 0.02},       Bound{"p90", 0.02},
                             Bound{"p99", 0.05},          Bound{"p99.9", 0.10}};

// The key of the statistic's bound: the level of a rate has one of its own.
std::string_view key_of(std::string_view unit, std::string_view statistic) {
  const bool is_level = statistic == "median" || statistic.empty();
  return is_level ? (is_rate(unit) ? kRateStatistic : "median") : statistic;
}

}  // namespace

bool is_rate(std::string_view unit) { return unit.ends_with("per_second"); }

MetricTraits traits_of(std::string_view unit, bool larger_is_better, std::string_view statistic) {
  MetricTraits traits;
  traits.unit = unit;
  traits.better = larger_is_better ? Better::kHigher : Better::kLower;
  for (const Bound& bound : kBounds)
    if (bound.statistic == key_of(unit, statistic)) traits.delta = bound.delta;
  return traits;
}

Status override_deltas(const std::map<std::string, double>& deltas, std::string_view statistic,
                       MetricTraits& traits) {
  std::vector<std::string> known;
  for (const Bound& bound : kBounds) known.emplace_back(bound.statistic);
  for (const auto& [key, delta] : deltas) {
    bool found = false;
    for (const std::string& word : known) found = found || word == key;
    if (!found)
      return fail(Code::kInvalidArgument, fmt::format("deltas: unknown key {}; allowed are {}",
                                                      in_quotes(key), one_of(known)));
    if (!(delta > 0 && delta < 1))
      return fail(Code::kInvalidArgument,
                  fmt::format("deltas: {}: {} is no fraction between 0 and 1", key, delta));
    if (key == key_of(traits.unit, statistic)) traits.delta = delta;
  }
  return {};
}

double worse_fraction(Better better, double log_worsening) {
  // Figures may be 300 orders of magnitude apart; doubles hold 308.
  // Clamped, so that an extreme figure gives a large fraction and no infinity in a report.
  constexpr double kMost = 600;
  log_worsening = std::clamp(log_worsening, -kMost, kMost);
  return better == Better::kHigher ? -std::expm1(-log_worsening) : std::expm1(log_worsening);
}

double log_worsening(Better better, double fraction) {
  return better == Better::kHigher ? -std::log1p(-fraction) : std::log1p(fraction);
}

double oriented(Better better, double log_ratio) {
  return better == Better::kHigher ? -log_ratio : log_ratio;
}

}  // namespace railgauge::analysis
