// Modelled operations whose true median and mean time are known: the inputs of every claim about
// intervals.
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
  // After which independent samples of the same noise stop; 0 where nothing is placed by it.
  double typical = 0;
  // Mean time of a sample; pauses are placed by it.
  double sample_ns = 0;
  // Whether values are rates of equal amounts; else they are times.
  bool is_rate = false;
  // Where a series counts the pauses that it met; not owned, may be absent.
  std::uint64_t* pauses_met = nullptr;
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
  // The true mean time of a sample, relative to that of the level: the rate over all time is its
  // inverse. As for the median, over the whole allowed time where the operation is not stationary.
  std::function<double(const RunShape&)> mean_time;
  // The true q-quantile, 0.5 < q < 1; empty where it is not known.
  std::function<double(double q)> quantile{};
  // It changes after the run has ended: no rule can see it. Shown, not judged.
  bool is_beyond = false;
  // Whether it places something by RunShape::typical.
  bool is_placed_by_typical = false;
  // The relative noise that it was made with.
  double noise = 0;
  // Whether it pauses: its median is not known, and a run that met no pause is counted by itself.
  bool has_pauses = false;
};

// Returns all operations with the relative noise `noise` (a standard deviation where one exists):
// independent, autoregressive, drifting, stepping, of two modes (independent and in blocks), heavy
// tailed, periodic, quantised, and combinations.
std::vector<SimulatedOperation> simulated_operations(double noise);

// Returns normal operations that stop now and then: pauses of 2, 20, 100 and 500 ms that take 1, 5
// and 20 % of all time, at random (a Poisson process) and at equal distances. A run begins at any
// time, hence also within a pause.
std::vector<SimulatedOperation> paused_operations(double noise);

}  // namespace railgauge
