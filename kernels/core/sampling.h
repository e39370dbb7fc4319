// Between a kernel and its sampler: options from the shared parameters, points from the samples.
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

struct PointNames {
  std::string metric;
  std::string meaning;
  std::string unit;
  bool larger_is_better = false;
};

// Statistics of one size. `synthetic`: a fake library had a part in it.
Point make_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
                 bool raw_samples, bool synthetic);

}  // namespace railgauge
