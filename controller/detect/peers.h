// Is this node worse than its peers tonight, and was it always? Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/stats/metric_traits.h"

namespace railgauge::analysis {

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
  // Its own z of earlier nights, oldest first.
  std::vector<double> past_z;
};

// Score of one member of a class on one night.
struct PeerScore {
  // False for a missing figure or a class that is too small.
  bool judged = false;
  // Robust z of the logarithm within the class; positive is worse.
  double z = 0;
  // Median of its last 20 z: what it always was.
  double standing = 0;
  // z minus `standing`: the change since the earlier nights.
  double moved = 0;
  // Fraction by which it is worse than the class's median.
  double worse = 0;
};

// `floor` is the least deviation of logarithms that the class is taken to have. Members far off are
// taken out and the class is learned again until nothing moves, so that several bad ones do not
// make themselves look normal.
std::vector<PeerScore> judge_peers(std::span<const Peer> peers, Better better, double floor);

// The class's own cut: the larger of `normal_cut` and the 1 - 1e-4 quantile of its past z.
double calibrated_cut(std::span<const double> past_z, double normal_cut = kPageZ);

// Whether to page: two of the last three nights beyond `cut`, or tonight beyond kPageAtOnceZ and
// more than twice delta. `nights` are z in the worse direction, the newest last.
bool pages(std::span<const double> nights, double worse_tonight, double delta, double cut = kPageZ);

}  // namespace railgauge::analysis
