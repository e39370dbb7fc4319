// Which nodes changed together and stay as they are: what one upgrade is made of. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace railgauge {

// A node whose stack is another than before.
struct MovedNode {
  std::string node{};
  std::string to{};      // "linux_kernel -> 6.5.0"; equal words are one cohort
  double since = 0;      // unix seconds
  bool handled = false;  // an upgrade of it was gated since
};

struct Cohort {
  std::vector<std::string> nodes{};  // by name
  std::string to{};
};

inline constexpr double kStableSeconds = 15 * 60;
inline constexpr double kLongAgoSeconds = 24 * 3600;  // what nobody judged by then is history
// Where measuring waits for a window, which may be that of a weekend.
inline constexpr double kWindowAgoSeconds = 8 * 24 * 3600.0;

// Nodes that moved to the same, when the last of them has been as it is for kStableSeconds: what is
// still being rolled out is one cohort, not one each. Without those that were handled.
std::vector<Cohort> stable_cohorts(std::span<const MovedNode> moved, double now,
                                   double long_ago = kLongAgoSeconds);

// How many of them may be measured at once: one in twenty of `attached`, one at least.
std::size_t most_at_once(std::size_t attached);

}  // namespace railgauge
