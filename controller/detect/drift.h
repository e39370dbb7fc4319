// Drifts of a series: parts in which the level moves by a little from run to run, beside parts with
// one level and steps between them. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/stats/noise.h"

namespace railgauge::analysis {

// A movement along one line, from value `begin` to value `end`.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
  double moved = 0;
};

// A level that moves one way from value `begin` to value `end`, the last one of the movement. It
// may move back in between, by less than half of what it moves before and of what it moves after.
struct Drift {
  std::size_t begin = 0;
  std::size_t end = 0;
  // Levels on both sides in the unit of the values, steps in between not counted.
  double before = 0;
  double after = 0;
  // Standard deviation of after - before for independent noise of deviation 1.
  double spread = 0;
  // The lines that make it up, ascending.
  std::vector<Stretch> parts{};

  [[nodiscard]] double moved() const { return after - before; }
};

struct Movement {
  // Ascending; they do not overlap.
  std::vector<Drift> drifts{};
  // First values behind steps, ascending: between lines that do not meet.
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
// the first value after each change, the number of values): a piece is on a slope, two changes in a
// row go one way, or one line costs less than a change, whose price is `penalty`. `runs` as of
// LineSums. Cheap; the search for lines is not.
bool may_move(std::span<const double> values, std::span<const std::size_t> runs,
              std::span<const std::size_t> bounds, const Noise& noise, double penalty);

// Finds the drifts. The series is cut into flat and sloping lines at the least cost. Lines that
// meet are one movement, as a smooth curve is; a joint with a jump is a step, which is no part of a
// drift.
Movement find_movement(std::span<const double> values, std::span<const std::size_t> runs,
                       const Noise& noise, const MovementSettings& settings);

// Returns what the drifts added to the level since the first value, by value. Empty without a
// drift.
std::vector<double> curve_of(std::span<const Drift> drifts, std::span<const std::size_t> runs);

}  // namespace railgauge::analysis
