// The fit of a series by pieces with one level each, and the evidence of changes between them.
// Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/stats/noise.h"
#include "controller/stats/pelt.h"

namespace railgauge::analysis {

// State of the detector's stages. Values are on the detector's scale. `bounds` are the ends of the
// pieces: 0, the first run after each change, n.
struct Fit {
  // Values without season and drift.
  std::vector<double> raw;
  // Values of `raw` with spikes pulled in.
  std::vector<double> clipped;
  // Indices of the spikes, ascending.
  std::vector<std::size_t> spikes;
  // Sums of `clipped`.
  PrefixSums sums{{}};
  Noise noise;
  // Penalty of one change, in the squared unit of the values.
  double penalty = 0;
  // Least change of a level that is reported.
  double least_step = 0;
  // Standard deviation of the difference of two neighbouring triples of runs, where the series is
  // like a random walk; else 0.
  double wander = 0;
  // By run: what drifts added to the level. Empty without a drift.
  std::vector<double> curve;
  std::vector<std::size_t> bounds;

  [[nodiscard]] std::size_t size() const { return raw.size(); }
  [[nodiscard]] std::size_t changes() const { return bounds.size() - 2; }
  // Returns the values of piece `k`, with spikes pulled in.
  [[nodiscard]] std::span<const double> piece(std::size_t k) const;
  // Returns the level of piece `k`: its median, or its mean where runs alternate.
  [[nodiscard]] double level(std::size_t k) const;
  // Returns the least step at run `at`: within a drift it is above what the drift moves in a least
  // piece.
  [[nodiscard]] double least_step_at(std::size_t at) const;
  // Returns what drifts added by run `at`.
  [[nodiscard]] double drifted(std::size_t at) const { return curve.empty() ? 0 : curve[at]; }
};
// A correlation of neighbours below which they alternate.
inline constexpr double kAlternating = -0.3;
// Least length of a piece, in runs.
inline constexpr std::size_t kLeastPiece = 3;
// Least length of a drift, in runs; a shorter movement is a step.
inline constexpr std::size_t kLeastDrift = 12;

// Evidence of a change: the shift from the values before it to the values after it.
struct Evidence {
  // Difference of the two means; values far from their piece's median are pulled in first.
  double shift = 0;
  // Standard deviation of `shift`; it includes correlation and heavy tails.
  double deviation = 0;
  // Chance of such a best split in a series without change.
  double p = 1;
};
// Computes the evidence of a change at `at`, from [begin, at) to [at, end). Requires begin < at <
// end. The p accounts for the choice of the best split (Miller and Siegmund).
Evidence evidence_of(const Fit& fit, std::size_t begin, std::size_t at, std::size_t end);

// Removes changes that are smaller than least_step or not significant, the weakest first. Places
// the remaining changes anew.
void drop_unproven(Fit& fit);

// Returns the largest difference of two neighbouring triples of runs at `at` or up to two runs
// beside it.
double local_jump(const Fit& fit, std::size_t at);

// Place of a change: the best one, and the range of places that fit nearly as well.
struct Place {
  std::size_t best = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};
// Finds the place of a single change within [begin, end), which has room for two pieces of
// kLeastPiece runs.
Place place_of(const Fit& fit, std::size_t begin, std::size_t end);

// Returns the running median of 5. The first and last two values are kept as far as they are
// between the nearest median and the line through the nearest ones (Tukey's end rule), so that a
// trend has no spikes at its ends. Fewer than 7 values are returned unchanged.
std::vector<double> running_median(std::span<const double> values);

struct Clipped {
  // The values; spikes are pulled to `limit` from the running median.
  std::vector<double> values;
  // Indices of the pulled values, ascending.
  std::vector<std::size_t> indices;
};

// Pulls in values that are more than `limit` from the running median. `limit` is above 0, in the
// unit of the values. Fewer than 7 values have no spikes.
Clipped clip_spikes(std::span<const double> values, double limit);

// Joins a short piece with its neighbours and marks its far values as spikes, if the level before
// the piece returns and chance explains so many spikes together; a short piece at either end of the
// series needs only the latter. Updates fit.clipped and fit.sums.
void drop_spike_clusters(Fit& fit);

}  // namespace railgauge::analysis
