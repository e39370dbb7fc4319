// Series that jump between a few levels: their changes are changes of each level's share of runs.
// Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "controller/detect/fit.h"

namespace railgauge::analysis {

// Marks changes between levels to which the series returns: A B A B is one process with two modes,
// A B A is a step and its end. `levels` are in order; result [k] is for the change from levels[k]
// to levels[k + 1].
std::vector<bool> returning_changes(std::span<const double> levels);

// Returns the length in runs of a regular swing: returning changes at even distances. Absent
// without one. `bounds` as in Fit.
std::optional<std::size_t> cycle_of(std::span<const std::size_t> bounds,
                                    const std::vector<bool>& returning);

// Two levels that the series mixes run by run.
struct Mixture {
  double low = 0;
  double high = 0;
  // Border between the two modes.
  double cut = 0;
};
// Finds the two modes. Absent unless they are clearly apart, each holds at least a tenth of the
// runs, and the series often switches between them.
std::optional<Mixture> find_mixture(const Fit& fit);

// A change of the share of runs in the upper mode.
struct WeightChange {
  std::size_t index = 0;
  // Share of runs in the high mode.
  double before = 0;
  double after = 0;
  double p = 1;
};
// Finds the best split of the modes' shares; absent unless the share moves by more than 10
// percentage points and significantly.
std::optional<WeightChange> find_weight_change(const Fit& fit, const Mixture& mixture);

// Reports whether the change at bounds[k] only moves runs between the mixture's modes: the piece
// before it or the piece after it holds at least a tenth of its runs in each mode.
bool is_mix_of(const Fit& fit, std::size_t k, const Mixture& mixture);

}  // namespace railgauge::analysis
