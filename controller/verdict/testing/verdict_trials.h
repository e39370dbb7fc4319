// The upgrade verdict against its bar: simulated cohorts with a known true loss. Synthetic.
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
  // How nodes are measured: each by itself, or with its neighbours on rings of their own, one way
  // or both, where each pair's figure holds the drift of both ends.
  enum class Pairs { kNone, kRing, kRingBothWays } pairs = Pairs::kNone;
  // So many more sides of `runs` after the upgrade while it is inconclusive.
  std::size_t extensions = 0;
};

struct VerdictRates {
  double pass = 0;
  double regressed = 0;
  double inconclusive = 0;
};

VerdictRates count_verdicts(const CohortPlan& plan, std::size_t seeds, std::uint64_t seed);

}  // namespace railgauge::analysis
