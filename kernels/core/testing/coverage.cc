// A virtual clock under the real sampler; the old rule, kept for comparison.
#include "kernels/core/testing/coverage.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/core/stats/dependence.h"
#include "kernels/core/stats/rate.h"
#include "kernels/core/stats/stats.h"

namespace railgauge {
namespace {

// Share of all runs that may converge and miss where few converge, and the least chance of more.
constexpr double kMissesOfAll = 0.01;
constexpr double kLeastChance = 0.01;
// Runs that find the typical length.
constexpr std::uint64_t kTypicalRuns = 20;

class VirtualClock final : public Clock {
 public:
  [[nodiscard]] double now_ns() const override { return now_ns_; }
  void advance_ns(double ns) { now_ns_ += ns; }

 private:
  double now_ns_ = 1e15;
};

// A rate keeps its least time beyond max_samples.
double allowed_by(const SampledFamily& family) {
  const SamplerOptions& options = family.options;
  return std::min(std::max(static_cast<double>(options.max_samples),
                           options.least_measure_ns / family.sample_ns),
                  options.time_cap_ns / family.sample_ns);
}

RunShape bare_shape(const SampledFamily& family) {
  return {.allowed = allowed_by(family),
          .shortest = static_cast<double>(family.options.min_samples),
          .sample_ns = family.sample_ns,
          .is_rate = family.is_rate};
}

// One run; the kept samples begin a series of their own, so that drifts and steps begin with them.
Sampled run_once(const SampledFamily& family, const SimulatedOperation& operation,
                 const RunShape& shape, std::uint64_t seed) {
  VirtualClock clock;
  NextValue next = operation.start(~seed, shape);
  const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
    for (; count > 0; --count) {
      const double value = next();
      clock.advance_ns(family.is_rate ? family.sample_ns / value : family.sample_ns * value);
      out.push_back(value);
    }
    return {};
  };
  auto sampled = Sampler(clock, family.options).run(batch, [&]() -> Status {
    if (shape.pauses_met != nullptr) *shape.pauses_met = 0;
    next = operation.start(seed, shape);
    return {};
  });
  RG_CHECK(sampled);
  return std::move(*sampled);
}

// The amount that a second of the level moves, in the unit of the family's stretches: rates keep
// their own unit, and a unit of the level's time takes sample_ns at the clock's speed.
double rate_level(const SampledFamily& family, const Sampled& sampled) {
  if (family.options.rate == SamplerOptions::Rate::kOfRates) return 1;
  const double sum = std::accumulate(sampled.samples.begin(), sampled.samples.end(), 0.0);
  return 1e9 / (sampled.measure_ns / sum);
}

// Independent samples with the operation's noise show where a run typically ends.
RunShape shape_of(const SampledFamily& family, const SimulatedOperation& operation) {
  RunShape shape = bare_shape(family);
  if (!operation.is_placed_by_typical) return shape;
  const SimulatedOperation normal = simulated_operations(operation.noise).front();
  for (std::uint64_t seed = 1; seed <= kTypicalRuns; ++seed)
    shape.typical += static_cast<double>(run_once(family, normal, shape, seed).samples.size()) /
                     static_cast<double>(kTypicalRuns);
  return shape;
}

// Adds one run to the sums.
void add(double truth, const std::optional<Interval>& interval, bool converged, std::size_t samples,
         Coverage& out) {
  const bool holds = interval && interval->low <= truth && truth <= interval->high;
  ++out.runs;
  out.with_interval += interval ? 1 : 0;
  out.held_in_all += holds ? 1 : 0;
  out.converged += converged ? 1 : 0;
  out.held += converged && holds ? 1 : 0;
  out.mean_samples += static_cast<double>(samples);
  if (interval) out.mean_half_width += (interval->high - interval->low) / 2;
}

// As a point of the run carries them.
void add_percentiles(const SimulatedOperation& operation, const Sampled& sampled, Coverages& out) {
  if (!operation.quantile) return;
  for (const auto& [q, figure] :
       {std::pair{0.99, &Coverages::p99}, std::pair{0.999, &Coverages::p999}}) {
    const auto estimate = estimate_percentile(sampled.samples, q);
    const auto interval = estimate ? estimate->interval : std::nullopt;
    add(operation.quantile(q), interval, sampled.converged && interval, sampled.samples.size(),
        out.*figure);
  }
}

void finish(Coverage& out) {
  out.mean_samples /= static_cast<double>(std::max<std::uint64_t>(1, out.runs));
  out.mean_half_width /= static_cast<double>(std::max<std::uint64_t>(1, out.with_interval));
}

// The interval of the rule before decision 066.
std::optional<Interval> interval_before(const std::vector<double>& samples, double& half_width) {
  std::vector<double> sorted = samples;
  std::ranges::sort(sorted);
  const double median = quantile_sorted(sorted, 0.5);
  const auto interval =
      median_interval_sorted(sorted, likely_count(centred_signs(samples, median)));
  half_width = interval ? (interval->high - interval->low) / 2 / median : 1;
  return interval;
}

// Whether at least so many misses in `runs` have less than the least chance, where each misses with
// `chance`: summed downwards from one less.
bool is_unlikely(std::uint64_t misses, std::uint64_t runs, double chance) {
  const auto n = static_cast<double>(runs);
  double fewer = 0;
  for (double k = 0; k < static_cast<double>(misses); ++k)
    fewer += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                      k * std::log(chance) + (n - k) * std::log(1 - chance));
  return 1 - fewer < kLeastChance;
}

}  // namespace

Coverages measure_all(const SampledFamily& family, const SimulatedOperation& operation,
                      std::uint64_t runs, std::uint64_t first_seed) {
  RunShape shape = shape_of(family, operation);
  std::uint64_t pauses_met = 0;
  shape.pauses_met = &pauses_met;
  const bool has_rate = family.options.rate != SamplerOptions::Rate::kNone;
  const double median = operation.has_pauses ? 0 : operation.median(shape);
  const double rate = 1 / operation.mean_time(shape);
  Coverages out;
  for (std::uint64_t seed = first_seed; seed < first_seed + runs; ++seed) {
    const Sampled sampled = run_once(family, operation, shape, seed);
    if (!operation.has_pauses) {
      const auto interval = estimate_median(sampled.samples, sampled.allowed_count).interval;
      add(median, interval, sampled.converged, sampled.samples.size(), out.median);
    }
    add_percentiles(operation, sampled, out);
    if (!has_rate) continue;
    auto interval =
        rate_figures(stretches_of(sampled, family.options.rate), sampled.allowed_ns()).interval;
    // From amounts a second to the level's.
    const double level = rate_level(family, sampled);
    if (interval) *interval = {interval->low / level, interval->high / level};
    if (operation.has_pauses && pauses_met == 0 && sampled.converged) {
      ++out.rate.unaware;
      ++out.rate.runs;
      out.rate.mean_samples += static_cast<double>(sampled.samples.size());
      continue;
    }
    add(rate, interval, sampled.converged, sampled.samples.size(), out.rate);
  }
  for (const CoverageFigure figure : kCoverageFigures) finish(out.*figure);
  return out;
}

Coverage measure_coverage(const SampledFamily& family, const SimulatedOperation& operation,
                          std::uint64_t runs, std::uint64_t first_seed) {
  return measure_all(family, operation, runs, first_seed).median;
}

Coverage measure_coverage_before(const SampledFamily& family, const SimulatedOperation& operation,
                                 std::uint64_t runs, std::uint64_t first_seed) {
  constexpr double kGrowth = 1.5;
  const RunShape shape = shape_of(family, operation);
  const double truth = operation.median(shape);
  Coverage out;
  std::vector<double> samples;
  for (std::uint64_t seed = first_seed; seed < first_seed + runs; ++seed) {
    const NextValue next = operation.start(seed, shape);
    samples.clear();
    double look = static_cast<double>(family.min_samples_before);
    std::optional<Interval> interval;
    bool converged = false;
    while (!converged && static_cast<double>(samples.size()) < shape.allowed) {
      look = std::min(std::ceil(look), shape.allowed);
      while (static_cast<double>(samples.size()) < look) samples.push_back(next());
      double half_width = 1;
      interval = interval_before(samples, half_width);
      converged = interval && half_width <= family.options.relative_half_width;
      look *= kGrowth;
    }
    add(truth, interval, converged, samples.size(), out);
  }
  finish(out);
  return out;
}

bool is_near_bound(const Coverage& coverage) {
  constexpr double kErrors = 2;
  const bool by_share = coverage.converged >= kManyConverged;
  const auto count = static_cast<double>(by_share ? coverage.converged : coverage.runs);
  if (count == 0) return false;
  const double misses = static_cast<double>(coverage.converged - coverage.held) / count;
  const double bound = by_share ? 1 - kCoverageBound : kMissesOfAll;
  return std::abs(misses - bound) <= kErrors * std::sqrt(misses * (1 - misses) / count);
}

bool is_below_bound(const Coverage& coverage) {
  if (coverage.converged >= kManyConverged) return coverage.share() < kCoverageBound;
  if (coverage.runs < kManyConverged) return is_surely_below_bound(coverage);
  return is_unlikely(coverage.converged - coverage.held, coverage.runs, kMissesOfAll);
}

bool is_surely_below_bound(const Coverage& coverage) {
  return is_unlikely(coverage.converged - coverage.held, coverage.converged, 1 - kCoverageBound);
}

}  // namespace railgauge
