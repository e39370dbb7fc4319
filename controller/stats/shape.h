// Whether distributions differ where their medians do not. Pure.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "controller/stats/metric_traits.h"

namespace railgauge::analysis {

// Brunner and Munzel's test: P(X < Y) + P(X = Y) / 2 and whether it is 1/2, unequal spreads
// allowed.
struct Dominance {
  double probability = 0.5;  // that a run of `after` is larger than one of `before`
  double p = 1;              // two-sided
};
// At least 4 runs a side, else nothing.
std::optional<Dominance> brunner_munzel(std::span<const double> before,
                                        std::span<const double> after);

// Worsening of the deciles 10 % to 90 % as fractions, from evenly spaced quantiles (as many on both
// sides, ascending, positive). Empty input gives zeros.
std::array<double, 9> decile_worsening(std::span<const float> before, std::span<const float> after,
                                       Better better);

// How often the slower of two modes was held: a finding of kind "mode mix" when its weight moves by
// more than 10 points beyond chance, whatever the median does.
struct ModeWeights {
  double before = 0;  // share of runs in the worse mode
  double after = 0;
  double p = 1;
  bool moved = false;
};
// Modes are estimated from all runs together; nothing when they have only one.
std::optional<ModeWeights> mode_weights(std::span<const double> before,
                                        std::span<const double> after, Better better);

}  // namespace railgauge::analysis
