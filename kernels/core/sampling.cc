// Makes options from parameters, and a point from samples.
#include "kernels/core/sampling.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/stats/rate.h"
#include "kernels/core/stats/stats.h"

namespace railgauge {
namespace {

// Units are the words of the point's schema; all rates end alike.
bool is_rate(const PointNames& names) { return names.unit.ends_with("per_second"); }

}  // namespace

// A fixed number of iterations has no warm-up: other tools count every iteration.
Result<SamplerOptions> sampler_options(const Params& params) {
  SamplerOptions options;
  options.min_samples = static_cast<std::uint64_t>(params.integer("min_samples"));
  options.max_samples = static_cast<std::uint64_t>(params.integer("max_samples"));
  options.relative_half_width = params.number("precision");
  options.time_cap_ns = params.duration_ns("time_cap");
  options.fixed_samples = static_cast<std::uint64_t>(params.integer("iterations"));
  options.warm_up = options.fixed_samples == 0;
  if (params.effective().contains("least_time")) {
    options.least_measure_ns = params.duration_ns("least_time");
    options.rate = SamplerOptions::Rate::kOfRates;
  }
  // Whoever names only the most samples wants no more than these.
  if (params.is_default("min_samples"))
    options.min_samples = std::min(options.min_samples, options.max_samples);
  if (options.min_samples > options.max_samples)
    return invalid("parameter min_samples: {} is above max_samples, which is {}",
                   options.min_samples, options.max_samples);
  return options;
}

// The runner passes its TickClock; only tests pass another clock.
const TickClock& tick_clock(const Context& context) {
  const auto* clock = dynamic_cast<const TickClock*>(&context.clock);
  RG_CHECK(clock != nullptr);
  return *clock;
}

// Every statistic comes from summarize(), so that all kernels report the same ones. Samples of a
// rate are of equal amounts, hence their rate over all time is known; a kernel whose samples are
// others sets the figures of a rate itself.
Point make_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
                 bool raw_samples, bool synthetic) {
  Point point;
  summarize(sampled.samples, point, sampled.allowed_count);
  point.set_metric(names.metric);
  point.set_meaning(names.meaning);
  point.set_unit(names.unit);
  point.set_larger_is_better(names.larger_is_better);
  point.set_message_bytes(static_cast<double>(message_bytes));
  point.set_converged(sampled.converged);
  point.set_stop_reason(sampled.stop_reason);
  point.set_warmup_count(static_cast<double>(sampled.warmup_count));
  point.set_measure_ns(sampled.measure_ns);
  point.set_synthetic(synthetic);
  if (is_rate(names) && !sampled.samples.empty())
    set_rate(
        rate_figures(stretches_of(sampled, SamplerOptions::Rate::kOfRates), sampled.allowed_ns()),
        sampled.precision, point);
  if (raw_samples) point.mutable_samples()->Assign(sampled.samples.begin(), sampled.samples.end());
  return point;
}

}  // namespace railgauge
