#include "controller/plan/policy/limits.h"

#include <cmath>

#include <fmt/format.h>

#include "kernels/core/text/units.h"

namespace railgauge::plan {
namespace {

// The value in the unit that the metric's name ends in, as people read it.
std::string figure(const std::string& metric, double value) {
  if (!std::isfinite(value)) return "not a number";
  if (metric.ends_with("_bytes_per_second"))
    return fmt::format("{} ({})", format_rate_bits(value), format_rate_bytes(value));
  if (metric.ends_with("_ns")) return format_latency_ns(value);
  if (metric.ends_with("_per_second")) return format_rate_count(value);
  return fmt::format("{:g}", value);
}

}  // namespace

// The negated comparisons make NaN a problem too.
std::optional<std::string> limit_problem(std::span<const Limit> limits, const std::string& metric,
                                         std::optional<std::uint64_t> size_bytes, double value) {
  for (const Limit& limit : limits) {
    if (limit.metric != metric || (limit.size_bytes && limit.size_bytes != size_bytes)) continue;
    const bool below = limit.floor && !(value >= *limit.floor);
    const bool above = limit.ceiling && !(value <= *limit.ceiling);
    if (!below && !above) continue;
    const std::string size = size_bytes ? fmt::format(" at {}", canonical_bytes(*size_bytes)) : "";
    return fmt::format("{}{} is {}, {} the suite's {} of {}", metric, size, figure(metric, value),
                       below ? "below" : "above", below ? "floor" : "ceiling",
                       figure(metric, below ? *limit.floor : *limit.ceiling));
  }
  return std::nullopt;
}

}  // namespace railgauge::plan
