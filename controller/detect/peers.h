// Is this node worse than its peers tonight, and was it always? Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/stats/metric_traits.h"

namespace railgauge::analysis {

// value = overall + row + column + residual, for each cell.
struct Polish {
  double overall = 0;
  // Effect of each sending side.
  std::vector<double> rows;
  // Effect of each receiving side.
  std::vector<double> columns;
  // Residuals of the paths, by row; NaN where nothing was measured.
  std::vector<double> residuals;
};

// Tukey's median polish: one bad port shows in its own effect and does not accuse its partners.
// `values` by row, rows * columns of them (logarithms; NaN is missing, as on a diagonal).
Polish median_polish(std::span<const double> values, std::size_t rows, std::size_t columns);

// A class with fewer members gives no verdict.
inline constexpr std::size_t kLeastPeers = 8;
// z that pages when two of three nights exceed it.
inline constexpr double kPageZ = 3.7;
// On one night, when it matters (2 delta), too.
inline constexpr double kPageAtOnceZ = 5.5;

// One member of a class (same metric, hardware class and distance class) on one night.
struct Peer {
  // Positive, in the metric's unit; anything else is missing.
  double value = 0;
};

// Score of one member of a class on one night.
struct PeerScore {
  // False for a missing figure or a class that is too small.
  bool judged = false;
  // Robust z of the logarithm within the class; positive is worse.
  double z = 0;
  // Fraction by which it is worse than the class's median.
  double worse = 0;
};

// `floor` is the least deviation of logarithms that the class is taken to have. Members far off are
// taken out and the class is learned again until nothing moves, so that several bad ones do not
// make themselves look normal.
std::vector<PeerScore> judge_peers(std::span<const Peer> peers, Better better, double floor);

// Whether to page: two of the last three nights beyond kPageZ, or tonight beyond kPageAtOnceZ and
// more than twice delta. `nights` are z in the worse direction, the newest last.
bool pages(std::span<const double> nights, double worse_tonight, double delta);

// With fewer partners a median cannot show which of them is slow.
inline constexpr std::size_t kLeastPartners = 3;

// Figure of one directed pair on one night.
struct PairFigure {
  // Nodes by number, below the count of nodes.
  std::size_t from = 0;
  std::size_t to = 0;
  // Positive; anything else is missing.
  double value = 0;
};

// Scores of nodes and paths; empty lists where `apart` is false.
struct PairScores {
  // False: too few nodes with enough partners to take the figures apart.
  bool apart = false;
  // By node: its score in the direction in which it is worse.
  std::vector<PeerScore> nodes;
  // By figure: the score of the path, after the effects of both ends are removed.
  std::vector<PeerScore> paths;
};

// By median polish, so that one slow node does not accuse its partners, nor a slow path its ends.
// `floor`: as for judge_peers().
PairScores judge_pairs(std::span<const PairFigure> figures, std::size_t nodes, Better better,
                       double floor);

}  // namespace railgauge::analysis
