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

struct NamedShifts {
  std::vector<PlaceShift> shifts{};
  std::vector<std::string> names{};
};

struct Cohort {
  Group changed;  // one shift a node
  Group controls;
  double run_variance = 0;
  double run_degrees = 0;                                        // of the changed pairs' runs
  std::size_t to_measure = 0;                                    // changed pairs
  std::size_t before = std::numeric_limits<std::size_t>::max();  // runs, where there were fewest
  std::size_t after = std::numeric_limits<std::size_t>::max();
  NamedShifts pairs{};
  NamedShifts nodes{};
  std::vector<PairLoss> losses{};  // of `pairs`
};

// Figures that are one: finite and positive.
std::size_t measured(const std::vector<double>& runs);

// Shifts of all pairs that have both sides; changed ones that have not are named in `out`.
Cohort gather(const MetricRuns& metric, const UpgradeRuns& upgrade, MetricVerdict& out);

// Pairs and nodes that lost much by themselves, in `out`.
void find_far_losses(const MetricRuns& metric, const Cohort& cohort, std::size_t metrics,
                     MetricVerdict& out);

}  // namespace railgauge::analysis
