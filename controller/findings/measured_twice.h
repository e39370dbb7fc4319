// Counts figures that a run measured twice with nothing changed in between. The share of these that
// differ is the judge's own rate of false alarms at this site.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "controller/findings/series_runs.h"
#include "controller/store/store.h"

namespace railgauge {

// In which repeats are counted, by people's tables and by Prometheus alike.
inline constexpr double kRepeatSeconds = 30 * 86'400.0;

// One series' two figures of one run.
struct MeasuredTwice {
  const SeriesRuns* runs = nullptr;  // its past
  double first = 0;
  double again = 0;
};

// Noise comes from each series' past and is pooled over the metric. Series with fewer runs than the
// detector needs are not counted. Pure.
store::RepeatCounts count_apart(std::span<const MeasuredTwice> figures);

// Counts them in the run and keeps the numbers as an event; nothing where none was measured twice.
// `all` are the run's series. A run that is judged again is kept once.
Status keep_repeats(store::Store& store, const std::string& run_id, std::span<const SeriesRuns> all,
                    double now);

}  // namespace railgauge
