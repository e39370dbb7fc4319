// Whether runs hold the slower of two levels more often, where their medians do not differ. Pure.
#pragma once

#include <optional>
#include <span>

#include "controller/stats/metric_traits.h"

namespace railgauge::analysis {

// How often the slower of two modes was held: a finding of kind "mode mix" when its weight moves by
// more than 10 points beyond chance, whatever the median does.
struct ModeWeights {
  // Share of runs in the worse mode.
  double before = 0;
  double after = 0;
  double p = 1;
  bool moved = false;
};
// Modes are estimated from all runs together; nothing when they have only one.
// At least 8 runs in all. Fisher's exact test gives p.
std::optional<ModeWeights> mode_weights(std::span<const double> before,
                                        std::span<const double> after, Better better);

}  // namespace railgauge::analysis
