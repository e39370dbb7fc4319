// The link between a kernel and its sampler: options from the shared parameters, points from the
// samples.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/core/base/clock.h"
#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"

namespace railgauge {

// The clock that stamps: the runner's own. CHECKs that the context's clock is one.
const TickClock& tick_clock(const Context& context);

// The sampler's options from the parameters of InfoBuilder::sampling(), an iteration being a
// sample. kInvalidArgument when min_samples is above max_samples.
Result<SamplerOptions> sampler_options(const Params& params);

// The words of a point; they are wire and database content.
struct PointNames {
  std::string metric;
  // "half_rtt", "completion", "posted" and others: what the timed interval covers.
  std::string meaning;
  std::string unit;
  // True for bandwidths and rates.
  bool larger_is_better = false;
};

// A point with the statistics of one size; kernels add pair, facts and `verified`. `synthetic`: a
// fake library had a part in it. Pure.
Point make_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
                 bool raw_samples, bool synthetic);

}  // namespace railgauge
