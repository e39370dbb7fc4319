// Floors and ceilings that a suite states: a point beyond one makes its task failed. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace railgauge::plan {

// In the metric's own unit, which its name ends in.
struct Limit {
  // "bandwidth_bytes_per_second".
  std::string metric{};
  // Size of the message; absent: every size.
  std::optional<std::uint64_t> size_bytes{};
  // A figure below it makes the task failed.
  std::optional<double> floor{};
  // A figure above it makes the task failed.
  std::optional<double> ceiling{};
  bool operator==(const Limit&) const = default;
};

// Why a point is beyond a limit, naming the limit, in one line; nothing when it is within all of
// them. A value that is not finite is beyond every limit on its metric.
std::optional<std::string> limit_problem(std::span<const Limit> limits, const std::string& metric,
                                         std::optional<std::uint64_t> size_bytes, double value);

}  // namespace railgauge::plan
