// The kernel that the memory's parameters ask for: the adapter reaching the memory, or staging; or
// one after the other in one task, with the difference between them.
#pragma once

#include <functional>
#include <memory>

#include "kernels/core/kernel.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/link/operation.h"

namespace railgauge::verbs {

enum class StagedFigure : std::uint8_t {
  // Counts messages that are in the target's memory.
  kBandwidth,
  // Half a round trip from memory to memory.
  kLatency,
};

enum class StagedPart : std::uint8_t {
  kAlone,
  // Runs beside the direct transfer, whose parameters need not all fit.
  kTwin,
};

// `choice` overrides the parameters memory and target_memory; one of them is staged.
std::unique_ptr<Kernel> make_staged(Verb verb, StagedFigure figure, const MemoryChoice& choice,
                                    StagedPart part);

// `direct` makes the kernel of the task's parameters where nothing is staged. With the parameter
// staged_twin the same is measured staged as well: its points' pair is "staged", and a note names
// the size where the two cross. Notes name each knee of the curve over the sizes.
using MakeKernel = std::function<std::unique_ptr<Kernel>(const Params& params)>;
std::unique_ptr<Kernel> by_memory(MakeKernel direct, Verb verb, StagedFigure figure);

}  // namespace railgauge::verbs
