// The changes of one series and their times: the detector of levels, drifts, spreads and modes over
// time. Pure and without chance: equal values give equal findings.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "controller/stats/noise.h"

namespace railgauge::analysis {

enum class ChangeKind { kStep, kDrift, kVariance, kModeMix };
std::string_view word(ChangeKind kind);  // "step", "drift", "variance", "mode_mix"

struct Change {
  std::size_t index = 0;  // first run of the new level; of a drift, its first run
  std::size_t first = 0;  // where it may have begun, both ends included; of a drift, its extent
  std::size_t last = 0;
  ChangeKind kind = ChangeKind::kStep;
  double before = 0;  // levels in the values' own unit; of a variance change standard deviations,
  double after = 0;   // of a mode mix the levels of the two modes
  // after / before - 1 where values are judged by their logarithms, else after - before; of a
  // variance change always the ratio. With a 95 % interval.
  double effect = 0;
  double effect_low = 0;
  double effect_high = 0;
  double p = 1;  // chance of such a split anywhere in a series without change; 1 where not asked
};

struct Spike {
  std::size_t index = 0;
  double value = 0;
  double expected = 0;  // the level about it
};

struct DetectorSettings {
  double resolution = 0;  // of the values; 0 is estimated from the values themselves
  double delta = 0;  // the practical bound, a fraction; steps below half of it are not reported
  Prior prior{};
};

struct Findings {
  std::vector<Change> changes;  // by index
  std::vector<Spike> spikes;    // by index
  // From this run on a shift is suspected: it may be too young to be placed.
  std::optional<std::size_t> suspected_since;
  std::size_t cycle_runs =
      0;                  // length of a regular swing between levels, which is no change; 0: none
  bool too_few = false;   // fewer than kMinRuns values: nothing was looked for
  bool relative = false;  // effects are fractions
  std::size_t runs = 0;   // values that are there
  Noise noise;            // of the values as judged (logarithms where relative)
};
inline constexpr std::size_t kMinRuns = 12;

// `values` in the order of runs; NaN and infinities are missing runs, which keep their index.
Findings detect_changes(std::span<const double> values, const DetectorSettings& settings);

}  // namespace railgauge::analysis
