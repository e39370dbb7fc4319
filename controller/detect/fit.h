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
  std::vector<double> clipped;      // raw with spikes pulled in
  std::vector<std::size_t> spikes;  // indices, ascending
  PrefixSums sums{{}};              // of clipped
  Noise noise;
  double penalty = 0;     // of a change, in the values' unit squared
  double least_step = 0;  // changes of a level below this are not reported
  std::vector<std::size_t> bounds;

  [[nodiscard]] std::size_t size() const { return raw.size(); }
  [[nodiscard]] std::size_t changes() const { return bounds.size() - 2; }
  [[nodiscard]] std::span<const double> piece(std::size_t k) const;  // of clipped
  [[nodiscard]] double level(std::size_t k) const;                   // median of the piece
};
inline constexpr std::size_t kLeastPiece = 3;  // runs

// The shift at `at` between [begin, at) and [at, end).
struct Evidence {
  double shift = 0;      // of the means, values far from their piece's median pulled in
  double deviation = 0;  // standard deviation of `shift`, correlation and heavy tails included
  double p = 1;          // of the best split there
};
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
Place place_of(const Fit& fit, std::size_t begin, std::size_t end);

// A level that moves evenly from run `begin` to run `end` (the last one of the movement).
struct Ramp {
  std::size_t begin = 0;
  std::size_t end = 0;
  double before = 0;  // levels on the detector's scale
  double after = 0;
  double deviation = 0;  // standard deviation of after - before
};

// Takes steps out of `fit` that a ramp explains better than they do, and returns the ramps.
std::vector<Ramp> stairs_to_ramps(Fit& fit);

// A slope within the last piece (at most 60 runs of it): Theil and Sen's, when Mann and Kendall's
// test shows it. Appended to `ramps`.
void find_late_drift(const Fit& fit, std::vector<Ramp>& ramps);

}  // namespace railgauge::analysis
