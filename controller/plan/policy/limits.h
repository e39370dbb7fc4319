// Floors and ceilings of a suite: a point beyond a limit makes its task failed. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace railgauge::plan {

// One limit, in the unit at the end of the metric's name.
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

// Returns one line that names the first limit that the point is beyond; absent when the point is
// within all limits. A value that is not finite is beyond every limit on its metric.
std::optional<std::string> limit_problem(std::span<const Limit> limits, const std::string& metric,
                                         std::optional<std::uint64_t> size_bytes, double value);

}  // namespace railgauge::plan
