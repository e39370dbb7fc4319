// The four kernels that copy between host memory and the BAR: bar.read_bw, bar.read_lat,
// bar.write_bw, bar.write_lat. They differ in direction and in the figure that they report.
#pragma once

#include <memory>
#include <span>

#include "kernels/bar/copy_routines.h"
#include "kernels/core/kernel.h"

namespace railgauge::bar {

// kWrite copies from the host to the GPU, kRead from the GPU to the host.
enum class CopyDirection : std::uint8_t { kWrite, kRead };
// kBandwidth reports bytes per second, kLatency nanoseconds of one copy.
enum class CopyFigure : std::uint8_t { kBandwidth, kLatency };

// How many copies share a sample where the parameter `repeat` is 0: a latency is of one copy; a
// bandwidth's sample moves at least 64 KiB written or 4 KiB read, so that reading the clock is
// below 1 % of it. Pure.
std::uint64_t default_repeat(CopyDirection direction, CopyFigure figure, std::uint64_t bytes);

// A kernel that is not prepared. `known` as in Setup::open: a test passes routines that copy
// wrongly.
std::unique_ptr<Kernel> make_copy_kernel(CopyDirection direction, CopyFigure figure,
                                         std::span<const Routine> known = routines());

}  // namespace railgauge::bar
