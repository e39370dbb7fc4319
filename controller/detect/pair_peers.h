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

struct PairFigure {
  std::size_t from = 0;  // nodes by number, below the count of nodes
  std::size_t to = 0;
  double value = 0;  // positive; anything else is missing
};

struct PairScores {
  bool apart = false;  // false: too few nodes with enough partners to take the figures apart
  std::vector<PeerScore> nodes;  // of the direction in which the node is worse
  std::vector<PeerScore> paths;  // by figure: what is left without both ends
};

// By median polish, so that one slow node does not accuse its partners, nor a slow path its ends.
// `floor`: as for judge_peers().
PairScores judge_pairs(std::span<const PairFigure> figures, std::size_t nodes, Better better,
                       double floor);

}  // namespace railgauge::analysis
