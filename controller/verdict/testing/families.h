// Families of synthetic series with known answers, for the detector's tests and its table. Equal
// seeds give equal series on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {

// A true step: the first run off the old level, what the level moves, and the runs in between.
struct TrueStep {
  std::size_t at = 0;
  double size = 0;
  std::size_t taken = 0;
};

// A true movement: its first and last run, and what it moves.
struct TrueDrift {
  std::size_t begin = 0;
  std::size_t end = 0;
  double size = 0;
};

// The right answer for one series, each list ascending. Both lists empty: nothing of level.
struct Truth {
  std::vector<TrueStep> steps{};
  std::vector<TrueDrift> drifts{};
  // The spread changes, or seems to where runs cease to alternate.
  bool has_spread = false;
};

// A series and its right answer.
struct Sample {
  std::vector<double> values{};
  Truth truth{};
};

// A family: all its series have one shape.
struct Family {
  std::string_view name;
  // Lengths at which the shape can be seen.
  std::vector<std::size_t> lengths;
  // Makes a series of that many runs about level 100.
  std::function<Sample(std::size_t runs, Chance& chance)> make;
};

// How often the detector gave each answer to the series of a family.
struct Answers {
  std::size_t series = 0;
  // Steps and drifts in the right numbers.
  std::size_t right = 0;
  // These, and where they are, which way and how far they go: a step within 2 runs, both ends of a
  // drift within a fifth of the series, sizes within 30 %.
  std::size_t placed = 0;
  // At least two steps too many where there is a drift.
  std::size_t staircase = 0;
  // No step and no drift where there is one.
  std::size_t nothing = 0;
  // More steps and drifts than there are.
  std::size_t extra = 0;
  // A change of the spread where there is none.
  std::size_t spread = 0;
  // Two changes nearer to each other than a least segment.
  std::size_t crowded = 0;
};

// Asks the detector about `series` series; series i of the family has the seed `seed` + i.
Answers ask_detector(const Family& family, std::size_t series, std::uint64_t seed);

// Returns all families, those without a change first.
std::vector<Family> all_families();

// Makes AR(1) noise with deviation 1 about 0; `rho` is the correlation of neighbours.
std::vector<double> correlated_noise(std::size_t runs, double rho, Chance& chance);

}  // namespace railgauge::analysis
