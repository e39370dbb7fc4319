// Finds the series of a run that got worse and groups them into events by the place they share.
// Pure; thread safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controller/findings/series_runs.h"
#include "controller/store/rows/remark_rows.h"

namespace railgauge {

// Series of one metric that moved together, with the place that they share.
struct RunEvent {
  MovedKind kind = MovedKind::kStep;
  // The measurement without its place: "verbs.write_lat latency_ns 8 B".
  std::string metric{};
  // A node; "n1/rxe0:1 n2/rxe0:1" for a single pair; "fabric".
  std::string where{};
  // The node where `where` is one, else "".
  std::string node{};
  // Facts beside levels: the sizes between which the knee of the first series moved.
  std::string detail{};
  // The median loss of its series, a fraction of the level before.
  double worse = 0;
  // The smallest chance among its series that the move is noise.
  double p = 1;
  std::vector<store::FindingSeriesRow> series{};
};

// Changes for the worse that began within the last kFreshRuns runs and still hold. Series of one
// metric and class of peers form a family, over which noise is pooled. The false discovery rate is
// bounded first over families, then over the members of each (analysis::hierarchical). A node is
// named where most of its series moved, the fabric where most nodes did. The end of a short
// improvement is no event, because it leads back to the earlier level. A stack that came back is
// compared with the level that it had before.
std::vector<RunEvent> events_of(std::span<const SeriesRuns> all);

// Runs in which a change is new; older changes were reported by earlier runs.
inline constexpr std::size_t kFreshRuns = 14;
// Newest runs that must be within the bound again before a finding is over.
inline constexpr std::size_t kBackRuns = 3;

// The text as a word that a shell takes without quotes: each run of other characters becomes one
// '-'. "step n1/rxe0:1 8 B" becomes "step-n1-rxe0-1-8-B".
std::string finding_word(const std::string& text);

}  // namespace railgauge
