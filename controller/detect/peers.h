// Is this node worse than its peers tonight, and was it always? Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/stats/metric_traits.h"

namespace railgauge::analysis {

inline constexpr std::size_t kLeastPeers = 8;  // fewer give no verdict
inline constexpr double kPageZ = 3.7;          // on two of three nights
inline constexpr double kPageAtOnceZ = 5.5;    // on one night, when it matters (2 delta), too

// One member of a class (same metric, hardware class and distance class) on one night.
struct Peer {
  double value = 0;            // positive, in the metric's unit; anything else is missing
  std::vector<double> past_z;  // its own z of earlier nights, oldest first
};

struct PeerScore {
  bool judged = false;  // false: missing, or too few peers
  double z = 0;         // robust, of logarithms; positive is worse
  double standing = 0;  // median of its last 20 z: what it always was
  double moved = 0;     // z less `standing`: what became of it
  double worse = 0;     // fraction by which it is worse than the class's median
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
