// Counts of figures that a run measured twice without a change in between. They show the judge's
// rate of false alarms at a site.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// The kind of the event that reports a run's counts to people.
inline constexpr std::string_view kMeasuredTwiceKind = "measured_twice";

// The counts of one run, or their sum over runs.
struct RepeatCounts {
  std::int64_t figures = 0;  // measured twice, of series with a past
  std::int64_t apart = 0;    // of these: they differ by more than the bound and their noise
};
struct RepeatCountRow {
  std::string run_id{};
  double at = 0;  // unix seconds
  RepeatCounts counts{};
};

// Stores the run's counts and an event with them. A run that has counts keeps the first ones.
Status write_repeat_counts(Connection& connection, const RepeatCountRow& row);
// Returns the sums over runs at or after `since` (unix seconds); absent when no run measured a
// figure twice.
Result<std::optional<RepeatCounts>> sum_repeat_counts(Connection& connection, double since);

}  // namespace railgauge::store
