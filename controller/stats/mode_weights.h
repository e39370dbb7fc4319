// Test for more runs at the slower of two levels, which the medians may not show. Pure.
#pragma once

#include <optional>
#include <span>

#include "controller/stats/metric_traits.h"

namespace railgauge::analysis {

// Shares of runs in the slower of two modes. `moved`: the share changed by more than 10 percentage
// points and significantly, which makes a finding "mode mix" whatever the median is.
struct ModeWeights {
  // Share of runs in the worse mode.
  double before = 0;
  double after = 0;
  double p = 1;
  bool moved = false;
};
// Estimates two modes from all runs together, and their shares on each side. Absent for fewer than
// 8 runs or a single mode. Fisher's exact test gives p.
std::optional<ModeWeights> mode_weights(std::span<const double> before,
                                        std::span<const double> after, Better better);

}  // namespace railgauge::analysis
