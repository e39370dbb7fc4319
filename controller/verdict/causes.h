// Ranks the changes of an upgrade as causes of a regression. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace railgauge::analysis {

// A node of the comparison: whether it got worse, and its changes.
struct ExposedNode {
  std::string node;
  bool affected = false;
  // Changes of its stack, such as "gpu_driver 535.1 -> 550.2".
  std::set<std::string> changes{};
};

// A cause: changes that always came together, so that these nodes cannot separate them. Counts are
// numbers of nodes.
struct Cause {
  std::vector<std::string> changes;
  // Number of nodes that have the changes.
  std::size_t exposed = 0;
  std::size_t exposed_affected = 0;
  std::size_t unexposed = 0;
  std::size_t unexposed_affected = 0;
  // Chance that at least as many affected nodes have the changes (hypergeometric).
  double p = 1;
  // True when at least 80 % of the exposed and at most 5 % of the other nodes are affected.
  bool explains = false;
  std::vector<std::string>
      // At most two nodes on which undoing one change would separate several; else empty.
      separators;
};

// Returns all causes, the most likely first: explaining causes before others, then by p. Changes on
// exactly the same nodes are one cause. Thread safe.
std::vector<Cause> likely_causes(std::span<const ExposedNode> nodes);

}  // namespace railgauge::analysis
