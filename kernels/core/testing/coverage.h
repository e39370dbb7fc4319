// How often the intervals of a sampled point hold the true median, rate and percentiles, through
// the real sampler with its stop rule and time cap, on modelled operations and a virtual clock.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernels/core/sampler.h"
#include "kernels/core/testing/simulated_operations.h"

namespace railgauge {

// The share that a 95 % interval must reach wherever `converged` is said.
inline constexpr double kCoverageBound = 0.93;

// Converged runs of a cell from which on their own share is compared with it.
inline constexpr std::uint64_t kManyConverged = 50;

// How a family samples.
struct SampledFamily {
  std::string name;
  SamplerOptions options;
  // Mean time of one sample.
  double sample_ns = 0;
  // Whether a sample is a rate: a larger one takes less time.
  bool is_rate = false;
  // min_samples of the rule before decision 066.
  std::uint64_t min_samples_before = 0;
};

// The results of many runs.
struct Coverage {
  std::uint64_t runs = 0;
  // Without those of `unaware`.
  std::uint64_t converged = 0;
  // Converged runs of an operation with pauses that met none of them: no rule can know.
  std::uint64_t unaware = 0;
  // Converged runs whose interval holds the truth.
  std::uint64_t held = 0;
  // All runs with an interval, and those that hold the truth.
  std::uint64_t with_interval = 0;
  std::uint64_t held_in_all = 0;
  double mean_samples = 0;
  // Mean half width of the intervals, relative to the level.
  double mean_half_width = 0;
  // The share of converged runs that hold the truth; 1 without any.
  [[nodiscard]] double share() const {
    return converged == 0 ? 1 : static_cast<double>(held) / static_cast<double>(converged);
  }
};

// The results of the same runs by all figures.
struct Coverages {
  // Absent figures (0 runs) for an operation with pauses, whose median is not known.
  Coverage median;
  // Absent for a family without a rate. Converged is the point's own word, which asks for both.
  Coverage rate;
  // Absent where the operation's quantiles are not known. Converged is a run that says so and whose
  // point carries the percentile's interval.
  Coverage p99;
  Coverage p999;
};

// The figures of a table.
using CoverageFigure = Coverage Coverages::*;
inline constexpr std::array kCoverageFigures{&Coverages::median, &Coverages::rate, &Coverages::p99,
                                             &Coverages::p999};

// Runs the operation `runs` times, each with a seed of its own, from `first_seed` on.
Coverages measure_all(const SampledFamily& family, const SimulatedOperation& operation,
                      std::uint64_t runs, std::uint64_t first_seed = 1);

// The median's coverage alone.
Coverage measure_coverage(const SampledFamily& family, const SimulatedOperation& operation,
                          std::uint64_t runs, std::uint64_t first_seed = 1);

// The same through the rule before decision 066: looks at 1.5 times the last count, and a rank
// interval by Geyer's count alone.
Coverage measure_coverage_before(const SampledFamily& family, const SimulatedOperation& operation,
                                 std::uint64_t runs, std::uint64_t first_seed = 1);

// Whether the share of converged runs that hold the truth is below kCoverageBound. Where fewer than
// kManyConverged do, they are the runs that happened to look steady, as one that met one of two
// states alone, which no single run can show: there at most 1 % of all runs may converge and miss.
// Fewer runs than that are judged by is_surely_below_bound().
bool is_below_bound(const Coverage& coverage);

// Whether the bound is within two standard errors of what is_below_bound() compares with it, on
// either side: such a coverage is known too badly.
bool is_near_bound(const Coverage& coverage);

// The same of a few runs: whether their misses have a chance below 1 % where each interval holds
// the truth with kCoverageBound.
bool is_surely_below_bound(const Coverage& coverage);

}  // namespace railgauge
