// The four kernels that copy between host memory and the BAR differ in direction and in what they
// report: this is the rest of them.
#pragma once

#include <memory>
#include <span>

#include "kernels/bar/copy_routines.h"
#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"

namespace railgauge::bar {

enum class CopyDirection : std::uint8_t { kWrite, kRead };
enum class CopyFigure : std::uint8_t { kBandwidth, kLatency };

// How many copies share a sample where the parameter `repeat` is 0: a latency is of one copy; a
// bandwidth's sample moves at least 64 KiB written or 4 KiB read, so that reading the clock is
// below 1 % of it. Pure.
std::uint64_t default_repeat(CopyDirection direction, CopyFigure figure, std::uint64_t bytes);

// repeat, the sampling, and the family's parameters.
void add_copy_parameters(InfoBuilder& builder, std::int64_t min_samples, std::int64_t max_samples);

// `known` as Setup::open has it: a test gives routines that copy wrongly.
std::unique_ptr<Kernel> make_copy_kernel(CopyDirection direction, CopyFigure figure,
                                         std::span<const Routine> known = routines());

}  // namespace railgauge::bar
