// Trials of the judge's required rates: small ones in unit tests, large ones in the benchmark. All
// are synthetic, from fixed seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/detect/changes.h"
#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {

struct Alarms {
  std::size_t series = 0;
  std::size_t alarms = 0;  // series with at least one change
  std::size_t step = 0;    // ... of these kinds
  std::size_t drift = 0;
  std::size_t variance = 0;
  std::size_t mode_mix = 0;
  [[nodiscard]] double rate() const {
    return static_cast<double>(alarms) / static_cast<double>(series);
  }
};

// Counts alarms in series of `runs` without change. `pooled`: groups of 200 series share their
// noise. A mode mix in a sticky bimodal series and in bursts is no alarm.
Alarms count_alarms(Null kind, std::size_t series, std::size_t runs, bool pooled,
                    std::uint64_t seed);

struct Power {
  std::size_t series = 0;
  double found_by_14 = 0;  // share in which the change was reported within 2 runs of its place
  double median_runs = 0;  // after the change until its first report; 99 is never
};
// Measures the detection of a step of `sigma` deviations after `before` clean runs, judged after
// each of the next 14 runs.
Power measure_power(double sigma, std::size_t before, std::size_t series, bool pooled,
                    std::uint64_t seed);

// Returns the prior from `peers` series of one kind.
Prior pooled_prior(Null kind, std::size_t peers, std::size_t runs, std::uint64_t seed);

}  // namespace railgauge::analysis
