// What a run measured twice with nothing changed in between: how often two figures of the same are
// told apart is the judge's own rate of false alarms at this site.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "controller/findings/run/run_changes.h"
#include "controller/store/store.h"

namespace railgauge {

inline constexpr std::string_view kMeasuredTwiceKind = "measured_twice";  // of the event

// In which repeats are counted, by people's tables and by Prometheus alike.
inline constexpr double kRepeatSeconds = 30 * 86'400.0;

struct Repeats {
  std::size_t figures = 0;  // that were measured twice, of series with a past
  std::size_t apart = 0;    // of them by more than the bound and what chance leaves 5 % of
};

// One series' two figures of one run.
struct MeasuredTwice {
  const SeriesRuns* runs = nullptr;  // its past
  double first = 0;
  double again = 0;
};

// Noise is told from each series' past and pooled over the metric; what has fewer runs than the
// detector asks for is not counted. Pure.
Repeats count_apart(std::span<const MeasuredTwice> figures);

// Counts them in the run and keeps the numbers as an event; nothing where none was measured twice.
// `all` are the run's series. A run that is judged again is kept once.
Status keep_repeats(store::Store& store, const std::string& run_id, std::span<const SeriesRuns> all,
                    double now);

// Sums since then (unix seconds); absent: none was measured twice.
Result<std::optional<Repeats>> repeats_since(const store::Store& store, double since);

}  // namespace railgauge
