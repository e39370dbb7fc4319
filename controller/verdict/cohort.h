// From runs of pairs to one shift a node, which is what a verdict counts. Pure.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "controller/verdict/equivalence.h"
#include "controller/verdict/far_losses.h"
#include "controller/verdict/pair_blame.h"
#include "controller/verdict/verdict.h"

namespace railgauge::analysis {

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
