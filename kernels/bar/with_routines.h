// Kernels of the family with other copy routines than this CPU's, as make_copy_kernel() of
// copy_kernel.h: a test passes some that copy wrongly. `known` as in Setup::open; it outlives the
// kernel.
#pragma once

#include <memory>
#include <span>

#include "kernels/bar/copy_routines.h"
#include "kernels/core/kernel.h"

namespace railgauge::bar {

std::unique_ptr<Kernel> make_crossover_kernel(std::span<const Routine> known);
std::unique_ptr<Kernel> make_sanity_kernel(std::span<const Routine> known);

}  // namespace railgauge::bar
