// How sure the mean of a cohort's shifts is when pairs share nodes, and with them their drift.
// Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace railgauge::analysis {

// The nodes that changed, or those that did not.
struct Group {
  std::vector<double> shifts{};  // one a node: the mean of its pairs, logarithms, positive is worse
  double run_error2 = 0;         // variance of a shift that the spread of its runs alone explains
  // By shift: the nodes at the ends of its pairs, by number, and in what share of them each is.
  // Empty: every shift has a node of its own.
  std::vector<std::vector<std::pair<std::size_t, double>>> ends{};
};

struct MeanSpread {
  double mean = 0;
  double error2 = 0;    // variance of the mean; infinite where nothing bounds it
  double degrees = 0;   // of freedom that it was estimated with; 0: nothing bounds the mean
  double widening = 1;  // of the drift's part, over shifts that share nothing
};

// Each node's drift enters once for each end, so shifts that share a node move together: their
// spread shows less of the drift than their mean holds. By how much follows from the ends alone;
// the spread of single runs, which nobody shares, is taken out first. Shifts that are all of one
// and the same pair bound nothing, as a single one.
MeanSpread spread_of(const Group& group);

}  // namespace railgauge::analysis
