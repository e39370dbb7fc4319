// The distance of each side of each node, or each pair, below the others, and its significance when
// the scatter is known from these figures alone. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/localise/localise.h"

namespace railgauge::localise {

// In units of the values that came in; positive: lower than the others.
struct NodeEffect {
  std::int32_t node = 0;
  Direction direction = Direction::kBoth;
  double effect = 0;
  // Effect over its standard error, which follows from the differences of the other sides.
  double t = 0;
  // Degrees of freedom of that standard error.
  double degrees = 0;
};

// `values`: from-major, n squared, NaN: no figure; `least_noise`: of one of them, however alike
// they are. Returns, for each node that can be judged, its sending and its receiving side; or both,
// where each direction is significant by itself and the lesser drop is half of the larger one at
// least, and where hardly a pair was measured both ways.
std::vector<NodeEffect> node_effects(const std::vector<double>& values, std::size_t n,
                                     double least_noise);

// Effect of one directed pair beyond its row and its column.
struct PairEffect {
  std::int32_t from = 0;
  std::int32_t to = 0;
  double effect = 0;
  double t = 0;
  double degrees = 0;
};
// Each figure against what its row and its column say without it. None where rows and columns
// explain all.
std::vector<PairEffect> pair_effects(const std::vector<double>& values, std::size_t n,
                                     double least_noise);

// That a side that is like the others is so low, one-sided. 1 without degrees of freedom.
double chance_of(double t, double degrees);
// The same as log likelihood: half of the square of the standard normal deviate of that chance.
double weight_of(double chance);

}  // namespace railgauge::localise
