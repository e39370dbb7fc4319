// Finds the series of a run that moved, and where they are. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controller/findings/series_runs.h"
#include "controller/store/rows/remark_rows.h"

namespace railgauge {

// Series of one metric that moved together, by where they meet.
struct RunEvent {
  MovedKind kind = MovedKind::kStep;
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

inline constexpr std::size_t kFreshRuns = 14;
inline constexpr std::size_t kBackRuns = 3;  // within the bound again: it is over

// "verbs.write_lat latency_ns n1" or whatever it is, as a word that a command line takes.
std::string finding_word(const std::string& text);

}  // namespace railgauge
