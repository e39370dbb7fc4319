// Knees of size curves that moved for the worse: where a rate reaches half of its best only at
// larger sizes than before, or a time doubles at smaller ones. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controller/findings/run/run_changes.h"

namespace railgauge {

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

// One for each curve (a metric at one place, several sizes) that has a knee in enough runs, also
// where it did not move. Runs that lack a size are left out.
std::vector<Knee> moved_knees(std::span<const SeriesRuns> all);

}  // namespace railgauge
