// Detector of the changes of one series over time: levels, drifts, spreads and modes. Pure and
// deterministic: equal values give equal findings.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "controller/stats/noise.h"

namespace railgauge::analysis {

// State of a two-sided CUSUM after some runs. A plain value: copies are independent, and a caller
// may continue a stored state.
struct Cusum {
  // Sums in standard deviations.
  double up = 0;
  double down = 0;
  // First run of the excursion that the sum counts.
  std::size_t up_since = 0;
  std::size_t down_since = 0;
  // Number of runs that were added.
  std::size_t runs = 0;

  // Adds a run. `away`: its distance from the level in standard deviations, correlation included.
  void add(double away);
  // Returns the first run of a shift whose sum exceeds kCusumThreshold; absent without one.
  [[nodiscard]] std::optional<std::size_t> alarm_since() const;
};
// Slack k: shifts below twice this value are not detected.
inline constexpr double kCusumSlack = 1;
// Threshold h: with k = 1, one false alarm in 2e7 normal runs.
inline constexpr double kCusumThreshold = 8;

// Returns the sums over `values` about `level`, in units of `deviation`, which is above 0.
Cusum cusum_of(std::span<const double> values, double level, double deviation);

// Kinds of changes of a series. The detector finds the first four.
enum class ChangeKind {
  kStep,
  kDrift,
  kVariance,  // the spread changed
  kModeMix,   // the share of runs at each of two levels changed
  kPeer,      // the series differs from its peers
  kKnee       // the knee of the curve over sizes moved
};
// Words of the kinds in the database and in JSON; they never change.
inline constexpr std::array<std::string_view, 6> kChangeKindWords{"step",     "drift", "variance",
                                                                  "mode_mix", "peer",  "knee"};
constexpr std::string_view word(ChangeKind kind) {
  return kChangeKindWords.at(static_cast<std::size_t>(kind));
}
// Reports whether the change is from one level to another, which a single figure can show.
constexpr bool is_of_level(ChangeKind kind) {
  return kind == ChangeKind::kStep || kind == ChangeKind::kDrift;
}

// One change of a series. Indices count runs of the input, missing ones included.
struct Change {
  // First run of the new level, or of a drift. Two changes of a series are at least three runs
  // apart.
  std::size_t index = 0;
  // Earliest and latest run at which the change may have begun, both included; the extent of a
  // drift, and of a step that takes some runs.
  std::size_t first = 0;
  std::size_t last = 0;
  ChangeKind kind = ChangeKind::kStep;
  // Levels on both sides in the unit of the values. A variance change has standard deviations here,
  // a mode mix the levels of its two modes.
  double before = 0;
  double after = 0;
  // Effect with its 95 % interval: after / before - 1 when values are judged by their logarithms
  // and for a variance change, else after - before.
  double effect = 0;
  double effect_low = 0;
  double effect_high = 0;
  // Chance of such a split anywhere in a series without change; 1 when not computed.
  double p = 1;
};

// Returns the last run in which the change was in progress.
constexpr std::size_t newest_run(const Change& change) {
  return change.kind == ChangeKind::kDrift ? change.last : change.index;
}

// A single run far from its level, whose successors are back at the level.
struct Spike {
  std::size_t index = 0;
  // The figure of this run, in the unit of the values.
  double value = 0;
  // Level around the run.
  double expected = 0;
};

// Input of the detector besides the values. The defaults judge a series alone.
struct DetectorSettings {
  // The practical bound, a fraction; steps below half of it are not reported.
  double delta = 0;
  // Noise of the series' peers; weight 0: the series is judged alone.
  Prior prior{};
  // Least noise that the series is taken to have, as a fraction of its level. 0.05 %: no
  // measurement of a fabric repeats better.
  double least_noise = 5e-4;
};

// Result for one series.
struct Findings {
  // Sorted by index.
  std::vector<Change> changes;
  // Sorted by index.
  std::vector<Spike> spikes;
  // First run of a suspected shift, which may be too young to be placed.
  std::optional<std::size_t> suspected_since;
  // Length in runs of a regular swing, which is no change; 0: no swing. Changes are found beside
  // it.
  std::size_t cycle_runs = 0;
  // True for fewer than kMinRuns values: no search was made.
  bool too_few = false;
  // True when effects are fractions of the level.
  bool relative = false;
  // Number of runs with a value.
  std::size_t runs = 0;
  // Noise of the values as judged: of their logarithms where `relative` is set.
  Noise noise;
};
inline constexpr std::size_t kMinRuns = 12;

// Finds steps, drifts, changed spreads, mode mixes and spikes. `values` are in the order of runs;
// NaN and infinities are missing runs, which keep their index. Where the series is one long level
// or line the cost grows with the square of the length: a millisecond for 365 runs, up to a second
// for 10,000; SeriesState bounds it by its window. Thread safe.
Findings detect_changes(std::span<const double> values, const DetectorSettings& settings);

}  // namespace railgauge::analysis
