// A series as pieces with a level each, and how well a change between two of them is shown. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/stats/noise.h"
#include "controller/stats/pelt.h"

namespace railgauge::analysis {

// The input of the detector's stages. Values are on the scale of the detector; `bounds` are the
// ends of the pieces: 0, the changes, n.
struct Fit {
  std::span<const double> raw;
  // `raw` with spikes pulled in.
  std::vector<double> clipped;
  // Indices of the spikes, ascending.
  std::vector<std::size_t> spikes;
  // Sums of `clipped`.
  PrefixSums sums{{}};
  Noise noise;
  // Penalty of one change, in the squared unit of the values.
  double penalty = 0;
  // Changes of a level below this are not reported.
  double least_step = 0;
  std::vector<std::size_t> bounds;

  [[nodiscard]] std::size_t size() const { return raw.size(); }
  [[nodiscard]] std::size_t changes() const { return bounds.size() - 2; }
  // Values of piece `k`, spikes pulled in.
  [[nodiscard]] std::span<const double> piece(std::size_t k) const;
  // Median of the piece.
  [[nodiscard]] double level(std::size_t k) const;
};
// Least length of a piece, in runs.
inline constexpr std::size_t kLeastPiece = 3;

// The shift at `at` between [begin, at) and [at, end).
struct Evidence {
  // Difference of the two means; values far from their piece's median are pulled in first.
  double shift = 0;
  // Standard deviation of `shift`; it includes correlation and heavy tails.
  double deviation = 0;
  // Chance that the best split of a series without change looks like this.
  double p = 1;
};
// Requires begin < at < end. The p is that of a split chosen as the best one (Miller and Siegmund).
Evidence evidence_of(const Fit& fit, std::size_t begin, std::size_t at, std::size_t end);

// Removes, weakest first, changes that are smaller than least_step or whose p is no proof, and
// places those that stay anew.
void drop_unproven(Fit& fit);

// Where a change between [begin, end) fits: the best place, and all places nearly as good.
struct Place {
  std::size_t best = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};
// Requires room for two pieces of kLeastPiece runs.
Place place_of(const Fit& fit, std::size_t begin, std::size_t end);

// A level that moves evenly from run `begin` to run `end` (the last one of the movement).
// Indices are runs of the fit.
struct Ramp {
  std::size_t begin = 0;
  std::size_t end = 0;
  // Levels on the detector's scale.
  double before = 0;
  double after = 0;
  // Standard deviation of after - before.
  double deviation = 0;
};

// Takes steps out of `fit` that a ramp explains better than they do, and returns the ramps.
std::vector<Ramp> stairs_to_ramps(Fit& fit);

// A slope within the last piece (at most 60 runs of it): Theil and Sen's, when Mann and Kendall's
// test shows it. Appended to `ramps`.
void find_late_drift(const Fit& fit, std::vector<Ramp>& ramps);

// The running median of 5; the first and last two values have the nearest window.
std::vector<double> running_median(std::span<const double> values);

struct Clipped {
  // The values; spikes are pulled to `limit` from the running median.
  std::vector<double> values;
  // Indices of the pulled values, ascending.
  std::vector<std::size_t> indices;
};

// `limit` > 0 in the values' own unit. At least 5 values, else nothing is a spike.
Clipped clip_spikes(std::span<const double> values, double limit);

// Joins a short piece with its neighbours, and names its far values spikes, when the level before
// it comes back and so many of this series' spikes may well fall together; at the end of a series
// likewise. Keeps fit.clipped and fit.sums in step.
void drop_spike_clusters(Fit& fit);

}  // namespace railgauge::analysis
