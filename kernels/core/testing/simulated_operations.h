// Modelled operations whose true median is known: the inputs of every claim about intervals.
// SYNTHETIC by nature. Pure; deterministic for a seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace railgauge {

// The length of a run, in samples, by which slow movements are placed.
struct RunShape {
  // That the time cap and max_samples allow.
  double allowed = 0;
  // min_samples.
  double shortest = 0;
  // After which independent samples of the same noise stop.
  double typical = 0;
};

// One operation after another; values are relative to a level of 1.
using NextValue = std::function<double()>;

// A modelled operation.
struct SimulatedOperation {
  std::string name;
  // The true median: of the stationary distribution, or, where there is none, of the values over
  // the whole allowed time.
  std::function<double(const RunShape&)> median;
  std::function<NextValue(std::uint64_t seed, const RunShape&)> start;
  // It changes after the run has ended: no rule can see it. Shown, not judged.
  bool is_beyond = false;
  // The relative noise that it was made with.
  double noise = 0;
};

// Returns all operations with the relative noise `noise` (a standard deviation where one exists):
// independent, autoregressive, drifting, stepping, of two modes (independent and in blocks), heavy
// tailed, periodic, quantised, and combinations.
std::vector<SimulatedOperation> simulated_operations(double noise);

}  // namespace railgauge
