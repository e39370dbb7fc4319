// The change behind a regression, among all that changed. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace railgauge::analysis {

// A node of the comparison: whether it got worse, and what changed on it.
struct ExposedNode {
  std::string node;
  bool affected = false;
  // Changes of its stack, such as "gpu_driver 535.1 -> 550.2".
  std::set<std::string> changes{};
};

// Changes that always came together: nothing here separates them.
// Counts are nodes. A cause that explains nothing is listed too, after those that do.
struct Cause {
  std::vector<std::string> changes;
  // Number of nodes that have the changes.
  std::size_t exposed = 0;
  std::size_t exposed_affected = 0;
  std::size_t unexposed = 0;
  std::size_t unexposed_affected = 0;
  // That so many of the affected have them by chance (hypergeometric).
  double p = 1;
  // At least 80 % of the exposed and at most 5 % of the others are affected.
  bool explains = false;
  std::vector<std::string>
      // Nodes on which undoing one of them would decide, two at most.
      separators;
};

// The causes of a regression, the most likely first: those that explain it, then by p. Changes that
// exactly the same nodes have are one cause. Thread safe.
std::vector<Cause> likely_causes(std::span<const ExposedNode> nodes);

}  // namespace railgauge::analysis
