// From runs of pairs to one shift a node, which is what a verdict counts. Pure.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "controller/verdict/equivalence.h"
#include "controller/verdict/verdict.h"

namespace railgauge::analysis {

// The loss of one pair.
struct PairLoss {
  std::string node{};
  // "" where there is none.
  std::string other_node{};
  // Else only the first end can be blamed.
  bool other_changed = false;
  // Loss as a logarithm; positive is worse.
  double loss = 0;
};

// The end of a pair that is behind its loss.
enum class End { kFirst, kOther, kEither };

// Decided by the losses of the two ends in their other pairs, half as much as here at least.
// kEither where both did or neither, and where an end has no other pair that could decide.
End blamed_end(std::span<const PairLoss> pairs, std::size_t which);

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

// Shifts and the names of their places, in the same order.
struct NamedShifts {
  std::vector<PlaceShift> shifts{};
  std::vector<std::string> names{};
};

// All figures of one metric, gathered by node.
struct Cohort {
  // One shift for each changed node.
  Group changed;
  Group controls;
  double run_variance = 0;
  // Degrees of freedom of the changed pairs' runs.
  double run_degrees = 0;
  // Number of changed pairs that were to be measured.
  std::size_t to_measure = 0;
  // Smallest number of runs of a pair on each side.
  std::size_t before = std::numeric_limits<std::size_t>::max();
  std::size_t after = std::numeric_limits<std::size_t>::max();
  NamedShifts pairs{};
  NamedShifts nodes{};
  // Losses of `pairs`, in their order.
  std::vector<PairLoss> losses{};
};

// Figures that are one: finite and positive.
std::size_t measured(const std::vector<double>& runs);

// Shifts of all pairs that have both sides; changed ones that have not are named in `out`.
Cohort gather(const MetricRuns& metric, const UpgradeRuns& upgrade, MetricVerdict& out);

// Pairs and nodes that lost much by themselves, in `out`.
void find_far_losses(const MetricRuns& metric, const Cohort& cohort, std::size_t metrics,
                     MetricVerdict& out);

}  // namespace railgauge::analysis
