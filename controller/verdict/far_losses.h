// A single place that lost much, which the mean of a large cohort does not show. Pure.
#pragma once

#include <span>
#include <vector>

namespace railgauge::analysis {

// A node or pair with its shift.
struct PlaceShift {
  bool changed = false;
  // Logarithm, positive is worse.
  double shift = 0;
  // Variance of `shift` that the spread of its runs alone explains.
  double run_error2 = 0;
};

// Chance of one false call among all that were asked.
inline constexpr double kFarProof = 0.01;

// Which of the changed places lost more than `delta` (logarithm) for sure, less what the controls'
// median moved by. A place's error is what places of its kind scatter by, by the median absolute
// deviation, so that the far ones do not hide behind themselves; at least that of its own runs.
// Bonferroni over the changed places and `metrics`. Few places scatter by an amount that nobody
// knows: nothing is called then.
std::vector<std::size_t> far_losses(std::span<const PlaceShift> places, double delta,
                                    std::size_t metrics);

}  // namespace railgauge::analysis
