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
  std::set<std::string> changes{};  // "gpu_driver 535.1 -> 550.2"
};

// Changes that always came together: nothing here separates them.
struct Cause {
  std::vector<std::string> changes;
  std::size_t exposed = 0;  // nodes that have them
  std::size_t exposed_affected = 0;
  std::size_t unexposed = 0;
  std::size_t unexposed_affected = 0;
  double p = 1;  // that so many of the affected have them by chance (hypergeometric)
  // At least 80 % of the exposed and at most 5 % of the others are affected.
  bool explains = false;
  std::vector<std::string>
      separators;  // nodes on which undoing one of them would decide, two at most
};

// The most likely first.
std::vector<Cause> likely_causes(std::span<const ExposedNode> nodes);

}  // namespace railgauge::analysis
