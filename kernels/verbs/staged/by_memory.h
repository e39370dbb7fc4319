// The kernel that the memory's parameters ask for: the adapter reaching the memory, or staging; or
// one after the other in one task, and then what tells them apart.
#pragma once

#include <functional>
#include <memory>

#include "kernels/core/kernel.h"
#include "kernels/verbs/staged/staged_transfer.h"

namespace railgauge::verbs {

// `direct` makes the kernel where nothing is staged. With the parameter staged_twin the same is
// measured staged as well: its points' pair is "staged", and a note names the size where the two
// cross. Notes name each knee of the curve over the sizes.
using MakeKernel = std::function<std::unique_ptr<Kernel>()>;
std::unique_ptr<Kernel> by_memory(MakeKernel direct, Verb verb, StagedFigure figure);

}  // namespace railgauge::verbs
