// The kernels of the family that take other copy routines than this CPU's: a test passes some that
// copy wrongly.
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

// Kernels that are not prepared. `known` as in Setup::open; it outlives them. The copy kernels are
// bar.read_bw, bar.read_lat, bar.write_bw and bar.write_lat.
std::unique_ptr<Kernel> make_copy_kernel(CopyDirection direction, CopyFigure figure,
                                         std::span<const Routine> known = routines());
std::unique_ptr<Kernel> make_crossover_kernel(std::span<const Routine> known);
std::unique_ptr<Kernel> make_sanity_kernel(std::span<const Routine> known);

}  // namespace railgauge::bar
