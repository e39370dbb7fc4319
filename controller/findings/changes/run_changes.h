// Finds the series of a run that got worse and groups them into events by the place they share.
// Pure; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "controller/findings/changes/series_runs.h"
#include "controller/store/rows/remark_rows.h"

namespace railgauge {

// A series that moved for the worse. `runs` is the series' past and outlives this.
struct Moved {
  const SeriesRuns* runs = nullptr;
  MovedKind kind = MovedKind::kStep;
  // Levels in the unit of the series; of a spread they are standard deviations.
  double before = 0;
  double after = 0;
  // The loss as a fraction of the level before.
  double worse = 0;
  // The chance that noise moves as far.
  double p = 1;
  // Facts beside the levels, for people; "" for most.
  std::string detail{};
};

// The chance of kinds whose test yields none: the peer test is strict by itself.
inline constexpr double kOwnProof = 1e-4;

// The level of a series from an earlier time when its nodes had the stack that they have again.
struct Returned {
  // The index of the first run with that stack again.
  std::size_t since = 0;
  double level = 0;
};
// Finds the earlier level. Absent where the stack was never another one, is new, or had too few
// runs at that time.
std::optional<Returned> returned_to(const SeriesRuns& one);

// Adds series that became slow compared with their peers; of a node that fell behind, all series
// are added. `members` are peers of each other. `moved` has the ids of series that are reported
// already and are skipped.
void add_peers(const std::vector<const SeriesRuns*>& members, const std::set<std::int64_t>& moved,
               std::vector<Moved>& out);

// The knee of one size curve: the size at which a rate reaches half of its best, or a time doubles.
struct Knee {
  // "verbs.write_bw bandwidth knee of the size curve".
  std::string metric{};
  // The series of the size that lost most, which represents the curve, with its levels on both
  // sides of the change. `worse` is the fraction by which the knee's size got worse; 0: it did not
  // move.
  Moved moved{};
};

// One for each curve (a metric at one place, several sizes) with a knee in enough runs, also where
// it did not move: these count as tests. Runs that lack a size are left out.
std::vector<Knee> moved_knees(std::span<const SeriesRuns> all);

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
