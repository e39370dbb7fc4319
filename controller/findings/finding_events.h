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
  // The places and changes that the finding belongs to: "node n1", "rail 3", "leaf l1", "change
  // gpu_driver 1 -> 2". Marks that the whole fabric has must be left out: they separate nothing.
  std::set<std::string> marks{};
};

// Groups findings into events. Two belong together where their times overlap and they share a mark,
// also through others. Returns for each finding the index of the first one of its event.
std::vector<std::size_t> events_of_findings(std::span<const FindingPlace> findings);

}  // namespace railgauge
