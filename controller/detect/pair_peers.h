// The nodes and paths that are outliers among pairs' figures of one night: a pair's figure is a
// sending node's, a receiving node's and the path's, and peers are compared with peers of their
// kind. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/detect/peers.h"

namespace railgauge::analysis {

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
