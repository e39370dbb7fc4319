// A swing that repeats with a fixed number of runs: weeks of nightly runs, launches that alternate
// between two places. It is no change, and without it the noise is what remains. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace railgauge::analysis {

struct Season {
  // Runs of one period; 0: no season.
  std::size_t period = 0;
  // The season adds pattern[i % period] to run i. The mean is 0.
  std::vector<double> pattern{};

  // Returns what the season adds to run `i`.
  [[nodiscard]] double at(std::size_t i) const { return period == 0 ? 0 : pattern[i % period]; }
};

// Finds the season of `values`, of 2 to 31 runs and at least four periods. NaN is a missing run,
// which the season counts. Steps, trends and spikes hardly disturb it: the pattern is a median over
// the periods, about a moving mean. A swing of less than `floor` is none, and neither are even
// stairs: a season takes back half of its swing in each period.
Season find_season(std::span<const double> values, double floor);

}  // namespace railgauge::analysis
