// The link between a kernel and its sampler: makes options from the shared parameters and points
// from the samples.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/core/base/clock.h"
#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"

namespace railgauge {

// Returns the clock for stamps, the runner's own. CHECKs that the context's clock is a TickClock.
const TickClock& tick_clock(const Context& context);

// Returns the sampler's options from the parameters of InfoBuilder::sampling(); one iteration is
// one sample. A kernel with least_time has samples that are rates of equal amounts.
// kInvalidArgument when a given min_samples is above max_samples; the default one is lowered to it.
Result<SamplerOptions> sampler_options(const Params& params);

// The words of a point; the wire and the database contain them.
struct PointNames {
  std::string metric;
  // The extent of the timed interval: "half_rtt", "completion", "posted" and others.
  std::string meaning;
  std::string unit;
  // True for bandwidths and rates.
  bool larger_is_better = false;
};

// Makes a point with the statistics of one size; kernels add pair, facts and `verified`.
// `synthetic` means that a fake library took part. Pure.
Point make_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
                 bool raw_samples, bool synthetic);

}  // namespace railgauge
