// Effects of the sides of nodes, and of pairs: their distance below the others, and its
// significance when the scatter is only known from these figures. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/localise/localise.h"

namespace railgauge::localise {

// Effect of one side of a node, or of both, in units of the input; positive is lower than the
// others.
struct NodeEffect {
  std::int32_t node = 0;
  Direction direction = Direction::kBoth;
  double effect = 0;
  // Effect over its standard error; the differences of the other sides give this error.
  double t = 0;
  // Degrees of freedom of that standard error.
  double degrees = 0;
};

// Computes the effects of each node that can be judged. `values`: from-major, n squared; NaN: no
// figure. `least_noise`: lower bound of one value's noise, however alike the values are. Returns
// the sending and the receiving side of a node. Returns one effect for both sides when each is
// significant by itself and the lesser drop is at least half of the larger one, or when most pairs
// were measured in one direction only.
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
// Compares each figure with the prediction of its row and column without that figure. Empty when
// rows and columns leave no degrees of freedom.
std::vector<PairEffect> pair_effects(const std::vector<double>& values, std::size_t n,
                                     double least_noise);

// Returns the one-sided chance of such a low value in a side like the others; 1 without degrees of
// freedom.
double chance_of(double t, double degrees);
// Converts a chance to a gain in log likelihood: half the square of its standard normal deviate.
double weight_of(double chance);

}  // namespace railgauge::localise
