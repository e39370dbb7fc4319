// Finds the series of a run that moved, and where they are. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controller/store/rows/remark_rows.h"
#include "controller/store/rows/rows.h"

namespace railgauge {

// One figure a run, oldest first; the last is of the run that is judged.
struct SeriesRuns {
  store::SeriesRow series{};
  std::vector<double> values{};
  std::vector<std::string> runs{};  // of each value; empty: unknown, and no curve is formed
  // Hardware of its nodes and the distance between them: series that differ here are no peers. ""
  // unknown.
  std::string peers{};
  // For each value, whether its nodes had their present stack then; empty: unknown.
  std::vector<bool> present_stack{};
};

// Series of one metric that moved together, by where they meet.
struct RunEvent {
  std::string kind{};    // step, drift, variance, mode_mix; peer: away from what its peers do;
                         // knee: where the curve over sizes bends
  std::string metric{};  // "verbs.write_lat latency_ns 8 B"
  std::string where{};   // a node; "n1/rxe0:1 n2/rxe0:1" for a single pair; "fabric"
  std::string node{};    // where it is one
  std::string detail{};  // facts beside levels: the sizes of a knee, of the first series
  double worse = 0;      // fraction, the median of its series
  double p = 1;          // of the least likely to be chance
  std::vector<store::FindingSeriesRow> series{};
};

// Changes for the worse that began within the last kFreshRuns runs and still hold. Those of one
// metric and class of peers are a family, over which noise is pooled; families are held to a share
// of false ones first, then their members (analysis::hierarchical). A node is named where most of
// its series moved, the fabric where most nodes are. The end of an improvement that did not last is
// none: it leads back to what was there before. Nor is what a stack that was there before gave
// then.
std::vector<RunEvent> events_of(std::span<const SeriesRuns> all);

// By how much `after` is worse than `before`, a fraction; 0 where one of them is no level.
double worse_by(const store::SeriesRow& series, double before, double after);

inline constexpr std::size_t kFreshRuns = 14;
inline constexpr std::size_t kBackRuns = 3;  // within the bound again: it is over

// "verbs.write_lat latency_ns n1" or whatever it is, as a word that a command line takes.
std::string finding_word(const std::string& text);

}  // namespace railgauge
