// The changes of one series and their times: the detector of levels, drifts, spreads and modes over
// time. Pure and without chance: equal values give equal findings.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "controller/stats/noise.h"

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

// How a series moved. The detector finds the first four.
enum class ChangeKind {
  kStep,
  kDrift,
  kVariance,  // it scatters more
  kModeMix,   // the worse of two levels is held more often
  kPeer,      // away from what its peers do
  kKnee       // the curve over sizes bends elsewhere
};
// Their words, as they are in the database and in JSON: they never change.
inline constexpr std::array<std::string_view, 6> kChangeKindWords{"step",     "drift", "variance",
                                                                  "mode_mix", "peer",  "knee"};
constexpr std::string_view word(ChangeKind kind) {
  return kChangeKindWords.at(static_cast<std::size_t>(kind));
}
// Whether it goes from one level to another, which a single figure can show.
constexpr bool is_of_level(ChangeKind kind) {
  return kind == ChangeKind::kStep || kind == ChangeKind::kDrift;
}

// One change of a series. Indices count runs of the input, missing ones included.
struct Change {
  // First run of the new level; of a drift, its first run.
  std::size_t index = 0;
  // Earliest and latest run at which it may have begun, both included; a drift's extent.
  std::size_t first = 0;
  std::size_t last = 0;
  ChangeKind kind = ChangeKind::kStep;
  // Levels on both sides in the unit of the values. A variance change has standard deviations here,
  // a mode mix the levels of its two modes.
  double before = 0;
  double after = 0;
  // after / before - 1 where values are judged by their logarithms, else after - before; of a
  // variance change always the ratio. With a 95 % interval.
  double effect = 0;
  double effect_low = 0;
  double effect_high = 0;
  // Chance of such a split anywhere in a series without change; 1 where not asked.
  double p = 1;
};

// One run that is far from its level and has no successors there.
struct Spike {
  std::size_t index = 0;
  // The figure of this run, in the unit of the values.
  double value = 0;
  // Level around the run.
  double expected = 0;
};

// Input of the detector beside the values. Defaults judge a series alone.
struct DetectorSettings {
  // The practical bound, a fraction; steps below half of it are not reported.
  double delta = 0;
  // Noise of the peers of this series; weight 0: judged without them.
  Prior prior{};
};

// Result for one series.
struct Findings {
  // Sorted by index.
  std::vector<Change> changes;
  // Sorted by index.
  std::vector<Spike> spikes;
  // From this run on a shift is suspected: it may be too young to be placed.
  std::optional<std::size_t> suspected_since;
  std::size_t cycle_runs =
      // Length of a regular swing between levels, which is no change; 0: none.
      0;
  // Fewer than kMinRuns values: nothing was looked for.
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
// NaN and infinities are missing runs, which keep their index. Cost: about linear in the length.
// Thread safe.
Findings detect_changes(std::span<const double> values, const DetectorSettings& settings);

}  // namespace railgauge::analysis
