// Two tests by which series count as moved: one falls behind its peers, and the knee of a size
// curve moves to worse sizes. A change of a series by itself is in run_changes. Pure; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "controller/findings/series_runs.h"

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
  // The series of the size that lost most, which represents the curve.
  const SeriesRuns* runs = nullptr;
  // The fraction by which the knee's size got worse; 0: the knee did not move.
  double worse = 0;
  // The chance that noise moves the knee as far.
  double p = 1;
  double bytes_before = 0;
  double bytes_after = 0;
  // The levels of `runs` on both sides of the change.
  double level_before = 0;
  double level_after = 0;
};

// One for each curve (a metric at one place, several sizes) with a knee in enough runs, also where
// it did not move: these count as tests. Runs that lack a size are left out.
std::vector<Knee> moved_knees(std::span<const SeriesRuns> all);

}  // namespace railgauge
