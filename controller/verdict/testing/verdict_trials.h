// Trials of the upgrade verdict: simulated cohorts with a known true loss. Synthetic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace railgauge::analysis {

struct CohortPlan {
  std::size_t changed = 16;
  std::size_t controls = 16;
  std::size_t runs = 5;  // a side and pair
  double true_loss = 0;  // of the changed pairs, fraction
  double run_cv = 0.01;
  double node_drift = 0.005;    // standard deviation, added to the after side of each node
  double common_shift = 0.005;  // of everything, after the upgrade
  double delta = 0.01;
  // Pairs of the measurement: none (each node alone), or neighbours on a ring of the changed nodes
  // and one of the controls, one way or both ways. A pair's figure contains the drift of both ends.
  enum class Pairs { kNone, kRing, kRingBothWays } pairs = Pairs::kNone;
  // Most further after sides of `runs` while the verdict is inconclusive.
  std::size_t extensions = 0;
};

struct VerdictRates {
  double pass = 0;
  double regressed = 0;
  double inconclusive = 0;
};

VerdictRates count_verdicts(const CohortPlan& plan, std::size_t seeds, std::uint64_t seed);

}  // namespace railgauge::analysis
