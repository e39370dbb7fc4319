#include "controller/sim/random.h"

#include <boost/math/distributions/normal.hpp>

namespace railgauge::simulator {
// The table is symmetric about 0; the two outermost cells are left to tail().
Normal::Normal() : quantiles_(kCells + 1, 0) {
  const boost::math::normal bell;
  for (std::size_t i = kCells / 2 - 1; i > 0; --i) {
    const double x = boost::math::quantile(bell, static_cast<double>(i) / kCells);
    quantiles_[i] = static_cast<float>(x);
    quantiles_[kCells - i] = static_cast<float>(-x);
  }
}

// Marsaglia's way beyond an edge: exponential numbers, some refused.
float Normal::tail(Random& random, bool low) const {
  const double edge = quantiles_[kCells - 1];
  for (;;) {
    const double x = -std::log(random.uniform()) / edge;
    const double y = -std::log(random.uniform());
    if (2 * y < x * x) continue;
    return static_cast<float>(low ? -(edge + x) : edge + x);
  }
}

}  // namespace railgauge::simulator
