#include "controller/stats/metric_traits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::analysis {
namespace {

constexpr std::string_view kRate = "rate";

// The practical bound of one statistic of a latency.
struct Bound {
  std::string_view statistic;
  double delta;
};
constexpr std::array kLatencyBounds{Bound{"median", 0.02}, Bound{"p90", 0.02}, Bound{"p99", 0.05},
                                    Bound{"p99.9", 0.10}};
constexpr double kRateBound = 0.01;

// Units are the words of the point's schema; all rates end alike.
bool is_rate(std::string_view unit) { return unit.ends_with("_per_second"); }

}  // namespace

MetricTraits traits_of(std::string_view unit, bool larger_is_better, std::string_view statistic) {
  MetricTraits traits;
  traits.unit = unit;
  traits.better = larger_is_better ? Better::kHigher : Better::kLower;
  for (const Bound& bound : kLatencyBounds)
    if (bound.statistic == statistic) traits.delta = bound.delta;
  // A rate's tail is as noisy as a latency's; only its median is held to the narrow bound.
  if (is_rate(unit) && (statistic == "median" || statistic.empty())) traits.delta = kRateBound;
  return traits;
}

Status override_deltas(const std::map<std::string, double>& deltas, std::string_view statistic,
                       MetricTraits& traits) {
  std::vector<std::string> known{std::string(kRate)};
  for (const Bound& bound : kLatencyBounds) known.emplace_back(bound.statistic);
  for (const auto& [key, delta] : deltas) {
    bool found = false;
    for (const std::string& word : known) found = found || word == key;
    if (!found)
      return fail(Code::kInvalidArgument, fmt::format("deltas: unknown key {}; allowed are {}",
                                                      in_quotes(key), one_of(known)));
    if (!(delta > 0 && delta < 1))
      return fail(Code::kInvalidArgument,
                  fmt::format("deltas: {}: {} is no fraction between 0 and 1", key, delta));
    const bool rate_median = is_rate(traits.unit) && statistic == "median";
    if (rate_median ? key == kRate : key == statistic) traits.delta = delta;
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
