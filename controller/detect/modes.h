// Series that jump between a few levels: what moves is how often they hold each. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "controller/detect/fit.h"

namespace railgauge::analysis {

// Which changes go between levels that the series held before and comes back to: A B A B is one
// process with two modes, A B A a step and its end. `levels` in order; [k] is about the change from
// levels[k] to levels[k + 1].
std::vector<bool> returning_changes(std::span<const double> levels);

// The length in runs of a regular swing: changes that return, evenly spaced. `bounds` as in Fit.
std::optional<std::size_t> cycle_of(std::span<const std::size_t> bounds,
                                    const std::vector<bool>& returning);

// Two levels that the series mixes run by run.
struct Mixture {
  double low = 0;
  double high = 0;
  // Border between the two modes.
  double cut = 0;
};
std::optional<Mixture> find_mixture(const Fit& fit);

// A change of the share of runs in the upper mode.
struct WeightChange {
  std::size_t index = 0;
  // Share of runs in the high mode.
  double before = 0;
  double after = 0;
  double p = 1;
};
// The best split of the modes' weights, when it moves more than 10 points beyond chance.
std::optional<WeightChange> find_weight_change(const Fit& fit, const Mixture& mixture);

// Whether the change at bounds[k] only moves weight between the mixture's modes: either side holds
// at least a tenth of its runs in each mode, or the new level was already held so often before.
bool is_mix_of(const Fit& fit, std::size_t k, const Mixture& mixture);

}  // namespace railgauge::analysis
