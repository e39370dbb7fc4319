// Counts figures that a run measured twice with nothing changed in between. The share of these that
// differ is the judge's own rate of false alarms at this site.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "controller/findings/changes/series_runs.h"
#include "controller/store/store.h"

namespace railgauge {

// The time over which repeats are counted, for people's tables and for Prometheus alike; seconds.
inline constexpr double kRepeatSeconds = 30 * 86'400.0;

// Two figures of one series in one run. `runs` is the series' past and outlives this.
struct MeasuredTwice {
  const SeriesRuns* runs = nullptr;
  // The means of both rounds, in the unit of the series.
  double first = 0;
  double again = 0;
};

// Counts the repeats and those that differ by more than the bound and the noise. Noise comes from
// each series' past and is pooled over the metric. Series with fewer runs than the detector needs
// are not counted. Pure.
store::RepeatCounts count_apart(std::span<const MeasuredTwice> figures);

// Counts the repeats of the run and stores the numbers; nothing where no figure was measured twice.
// `all` are the run's series. A run that is judged again is counted once. `now`: unix seconds.
// Fails as the store fails.
Status keep_repeats(store::Store& store, const std::string& run_id, std::span<const SeriesRuns> all,
                    double now);

}  // namespace railgauge
