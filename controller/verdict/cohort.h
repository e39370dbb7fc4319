// Condenses the runs of pairs into one shift for each node, the unit of a verdict. Pure.
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
  // "" for a figure of a single node.
  std::string other_node{};
  // True when the other end changed too; false: only the first end can be blamed.
  bool other_changed = false;
  // Loss as a logarithm; positive is worse.
  double loss = 0;
};

// The end of a pair that causes its loss.
enum class End { kFirst, kOther, kEither };

// Returns the end that causes the loss of pair `which`: the only end whose other pairs lost, on
// average, at least half as much. kEither when this holds for both ends or for neither, or when an
// end has no other pair.
End blamed_end(std::span<const PairLoss> pairs, std::size_t which);

// A node or pair with its shift.
struct PlaceShift {
  bool changed = false;
  // Logarithm, positive is worse.
  double shift = 0;
  // Variance of `shift` that the spread of its runs alone explains.
  double run_error2 = 0;
};

// Chance that a place without any loss is called, among all places and metrics.
inline constexpr double kFarProof = 0.01;
// Chance that one place with a loss of exactly the bound is called.
inline constexpr double kFarBound = 0.01;

// Returns the indices of changed places that certainly lost, and lost more than `delta`
// (logarithm), relative to the controls' median. A place's error is the scatter of all places by
// the median absolute deviation, which far places do not inflate, but at least the error of the
// place's own runs. That there is a loss is corrected by Bonferroni over the changed places and
// `metrics`; that it is beyond the bound is asked of such a place alone. Returns none when the
// places are too few to know their scatter.
std::vector<std::size_t> far_losses(std::span<const PlaceShift> places, double delta,
                                    std::size_t metrics);

// Shifts, and the names of their places in the same order.
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

// Returns for each place the smallest loss (logarithm) that far_losses() names in 95 of 100 cases;
// infinite for a place that did not change, and where the places are too few.
std::vector<double> far_sight(std::span<const PlaceShift> places, double delta,
                              std::size_t metrics);

// Returns the number of valid figures: finite and positive.
std::size_t measured(const std::vector<double>& runs);

// Gathers the shifts of all pairs with enough runs on both sides. Adds the names of other changed
// pairs to out.missing, and pairs beyond the bound to out.flags.
Cohort gather(const MetricRuns& metric, const UpgradeRuns& upgrade, MetricVerdict& out);

// Adds pairs and nodes with far losses to out.far, and their largest loss to out.far_worse; sets
// out.sight.
void find_far_losses(const MetricRuns& metric, const Cohort& cohort, std::size_t metrics,
                     MetricVerdict& out);

}  // namespace railgauge::analysis
