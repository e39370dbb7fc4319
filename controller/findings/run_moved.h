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

struct Moved {
  const SeriesRuns* runs = nullptr;
  MovedKind kind = MovedKind::kStep;
  double before = 0;
  double after = 0;
  double worse = 0;
  double p = 1;
  std::string detail{};
};

inline constexpr double kOwnProof = 1e-4;  // of classes that have a test of their own

// The level of a series from an earlier time when its nodes had the stack that they have again.
struct Returned {
  std::size_t since = 0;  // the first run with it again
  double level = 0;
};
// Absent where the stack never was another, is new, or had too few runs then.
std::optional<Returned> returned_to(const SeriesRuns& one);

// Adds series that became slow compared with their peers. Of a node that fell behind, all of its
// series are added. `members` are peers of each other; `moved` has the ids of series that are
// reported already.
void add_peers(const std::vector<const SeriesRuns*>& members, const std::set<std::int64_t>& moved,
               std::vector<Moved>& out);

struct Knee {
  std::string metric{};              // "verbs.write_bw bandwidth knee of the size curve"
  const SeriesRuns* runs = nullptr;  // of the size that lost most, which represents the curve
  double worse = 0;                  // fraction of the knee's size; 0: it did not move
  double p = 1;
  double bytes_before = 0;
  double bytes_after = 0;
  double level_before = 0;  // of `runs`
  double level_after = 0;
};

// A knee is where a rate reaches half of its best, or a time doubles; it got worse where that is at
// larger sizes than before, of a time at smaller ones. One for each curve (a metric at one place,
// several sizes) that has a knee in enough runs, also where it did not move. Runs that lack a size
// are left out.
std::vector<Knee> moved_knees(std::span<const SeriesRuns> all);

}  // namespace railgauge
