#include "controller/sim/random.h"

namespace railgauge::simulator {
namespace {

double below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846); }

// The x with a share p below it, by Newton's steps from a near value.
double quantile(double p, double x) {
  for (int i = 0; i < 8; ++i) x -= (below(x) - p) / density(x);
  return x;
}

}  // namespace

Normal::Normal() : quantiles_(kCells + 1, 0) {
  double x = 0;
  for (std::size_t i = kCells / 2 - 1; i > 0; --i) {
    x = quantile(static_cast<double>(i) / kCells, x);
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
