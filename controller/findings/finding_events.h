// Findings that are one event: they began at the same time and meet somewhere. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace railgauge {

// Where and when a finding began.
struct FindingPlace {
  double from = 0;  // unix seconds; it began between these two
  double until = 0;
  // What it is of, each told by a word: "node n1", "rail 3", "leaf l1", "change gpu_driver 1 -> 2".
  // What all of the fabric has tells nothing and is not to be among them.
  std::set<std::string> marks{};
};

// Two are one event where their times overlap and they share a mark, also by way of others. Of each
// finding the number of the first that is of its event.
std::vector<std::size_t> events_of_findings(std::span<const FindingPlace> findings);

}  // namespace railgauge
