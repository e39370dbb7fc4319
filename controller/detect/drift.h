// Drifts of a series: parts in which the level moves by a little from run to run, beside parts with
// one level and steps between them. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/stats/noise.h"

namespace railgauge::analysis {

// A level that moves one way from run `begin` to run `end`, the last run of the movement.
struct Drift {
  std::size_t begin = 0;
  std::size_t end = 0;
  // Levels on both sides in the unit of the values, steps in between not counted.
  double before = 0;
  double after = 0;
  // Standard deviation of after - before.
  double deviation = 0;
};

struct Movement {
  // Ascending; they do not overlap.
  std::vector<Drift> drifts{};
  // By run: what the drifts added to the level since the first run. Empty without a drift.
  std::vector<double> curve{};
  // First runs behind steps, ascending: between lines that do not meet.
  std::vector<std::size_t> steps{};
};

// Input of find_movement() beside the values.
struct MovementSettings {
  // Price of one more piece, in the squared unit of the values.
  double penalty = 0;
  // Least movement that is reported.
  double least_step = 0;
};

// Reports whether lines may explain `values` better than the flat pieces with the ends `bounds` (0,
// the first run after each change, the number of values): a piece is on a slope, or two changes in
// a row go one way. Cheap; the search for lines is not.
bool may_move(std::span<const double> values, std::span<const std::size_t> bounds,
              const Noise& noise);

// Finds the drifts. The series is cut into flat and sloping lines at the least cost, exactly (the
// dynamic programme of optimal partitioning, pruned as PELT's). Lines that meet are one movement,
// as a smooth curve is; a joint with a jump is a step, which is left in the values.
Movement find_movement(std::span<const double> values, const Noise& noise,
                       const MovementSettings& settings);

}  // namespace railgauge::analysis
