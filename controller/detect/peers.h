// Comparison of nodes and paths with their peers on one night, and the decision to page. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/stats/metric_traits.h"

namespace railgauge::analysis {

// Decomposition of a matrix: value = overall + row + column + residual, for each cell.
struct Polish {
  double overall = 0;
  // Effect of each sending side.
  std::vector<double> rows;
  // Effect of each receiving side.
  std::vector<double> columns;
  // Residuals of the paths, by row; NaN: not measured.
  std::vector<double> residuals;
};

// Decomposes a matrix by Tukey's median polish: a bad port shows in its own effect and does not
// accuse its partners. `values`: rows * columns logarithms by row; NaN is missing, as on a
// diagonal.
Polish median_polish(std::span<const double> values, std::size_t rows, std::size_t columns);

// Fewest members with which a class is judged.
inline constexpr std::size_t kLeastPeers = 8;
// Bound of z for a page when two of the last three nights exceed it.
inline constexpr double kPageZ = 3.7;
// Bound of z for a page on a single night, if the loss is also above twice delta.
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
  // Loss as a fraction of the class's median.
  double worse = 0;
};

// Scores each member against its class. `floor`: least assumed deviation of the class's logarithms.
// Learns the class repeatedly without far members until it is stable, so that several bad members
// do not look normal.
std::vector<PeerScore> judge_peers(std::span<const Peer> peers, Better better, double floor);

// Decides whether to page: two of the last three nights are beyond kPageZ, or tonight is beyond
// kPageAtOnceZ with a loss above twice `delta`. `nights`: z in the worse direction, newest last.
bool pages(std::span<const double> nights, double worse_tonight, double delta);

// Fewest partners with which a median shows the slow one.
inline constexpr std::size_t kLeastPartners = 3;

// Figure of one directed pair on one night.
struct PairFigure {
  // Nodes by number, below the count of nodes.
  std::size_t from = 0;
  std::size_t to = 0;
  // Positive; anything else is missing.
  double value = 0;
};

// Scores of nodes and paths; the lists are empty when `apart` is false.
struct PairScores {
  // False when too few nodes have enough partners to separate nodes from paths.
  bool apart = false;
  // By node: its score in its worse direction.
  std::vector<PeerScore> nodes;
  // By figure: the score of the path, after the effects of both ends are removed.
  std::vector<PeerScore> paths;
};

// Scores nodes and paths by median polish, so that a slow node does not accuse its partners, nor a
// slow path its ends. `floor`: as for judge_peers().
PairScores judge_pairs(std::span<const PairFigure> figures, std::size_t nodes, Better better,
                       double floor);

}  // namespace railgauge::analysis
