// Kernels of the family with replaceable copy routines: a test passes routines that copy wrongly.
#pragma once

#include <memory>
#include <span>

#include "kernels/bar/routine/copy_routines.h"
#include "kernels/core/kernel.h"

namespace railgauge::bar {

// kWrite copies from the host to the GPU, kRead from the GPU to the host.
enum class CopyDirection : std::uint8_t { kWrite, kRead };
// kBandwidth reports bytes per second, kLatency nanoseconds of one copy.
enum class CopyFigure : std::uint8_t { kBandwidth, kLatency };

// Returns the copies in a sample when the parameter `repeat` is 0. A latency has one copy; a
// bandwidth's sample writes at least 64 KiB or reads at least 4 KiB, so that reading the clock
// costs below 1 % of it. Pure.
std::uint64_t default_repeat(CopyDirection direction, CopyFigure figure, std::uint64_t bytes);

// Make unprepared kernels of the GPU's flags, and of a shared BAR.
std::unique_ptr<Kernel> make_ping_pong(std::span<const Routine> known);
std::unique_ptr<Kernel> make_shared_bw(std::span<const Routine> known);
// Make unprepared kernels. `known` as in Setup::open; it outlives them. The copy kernels are
// bar.read_bw, bar.read_lat, bar.write_bw and bar.write_lat.
std::unique_ptr<Kernel> make_copy_kernel(CopyDirection direction, CopyFigure figure,
                                         std::span<const Routine> known = routines());
std::unique_ptr<Kernel> make_crossover_kernel(std::span<const Routine> known);
std::unique_ptr<Kernel> make_sanity_kernel(std::span<const Routine> known);

}  // namespace railgauge::bar
