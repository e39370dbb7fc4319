// The link's own rate for a copy of the same size: by the GPU's copy engine, in the same process.
#pragma once

#include <cstdint>

#include "kernels/bar/backend/backend.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"

namespace railgauge::bar {

// Returns the bytes per second of copies of `bytes` between pinned memory and `view`, several in
// the copy engine's queue: the median of rounds, some 30 ms in all. To the GPU if `writes`. The
// target's bytes change. kFailedPrecondition where the driver cannot pin the memory.
Result<double> engine_rate(const gpu::Gpu& gpu, const View& view, std::uint64_t bytes, bool writes,
                           const TickClock& clock);

}  // namespace railgauge::bar
