// Page's two-sided cumulative sum: flags a shift within a few runs, before it can be placed. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace railgauge::analysis {

// State of the sums after some runs. A plain value: copies are independent, and a caller may
// continue a stored one.
struct Cusum {
  // Sums in standard deviations.
  double up = 0;
  double down = 0;
  // First run of the excursion that the sum counts.
  std::size_t up_since = 0;
  std::size_t down_since = 0;
  // Number of runs that were added.
  std::size_t runs = 0;

  // `away` is the run's distance from its level in standard deviations (correlation included).
  void add(double away);
  // The first run of a shift that is beyond doubt, else nothing.
  [[nodiscard]] std::optional<std::size_t> alarm_since() const;
};
// Slack k: shifts below twice this are not looked for.
inline constexpr double kCusumSlack = 1;
// Threshold h: with k = 1 one false alarm in 2e7 normal runs.
inline constexpr double kCusumThreshold = 8;

// The sums over `values`, about `level`, with `deviation` > 0.
Cusum cusum_of(std::span<const double> values, double level, double deviation);

}  // namespace railgauge::analysis
