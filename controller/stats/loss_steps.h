// A few steps between losses, so that places with like ones are named together. Pure.
#pragma once

#include <cmath>

namespace railgauge::analysis {

// A smallest loss beyond this share is no sight.
inline constexpr double kMostSeen = 0.5;

// Returns the next step at or above the share of a loss: half percents up to 5 %, whole ones up to
// 10 %, then fives. 0 for 0 and for more than kMostSeen.
inline double rounded_up_loss(double share) {
  if (!(share > 0 && share <= kMostSeen)) return 0;
  const double percent = 100 * share;
  const double step = percent <= 5 ? 0.5 : percent <= 10 ? 1 : 5;
  // A figure that is a step already stays one.
  constexpr double kRounding = 1e-9;
  return std::ceil(percent / step - kRounding) * step / 100;
}

}  // namespace railgauge::analysis
