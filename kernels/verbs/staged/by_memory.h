// Selects the kernel by the memory parameters: direct access by the adapter, or staging, or both in
// turn in one task with the difference between them.
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
  // Runs beside the direct transfer, whose parameters need not all fit staging.
  kTwin,
};

// Makes a staged kernel. `choice` overrides memory and target_memory; one of them is staged.
std::unique_ptr<Kernel> make_staged(Verb verb, StagedFigure figure, const MemoryChoice& choice,
                                    StagedPart part);

// Makes the kernel of the task's parameters; `direct` makes it when nothing is staged. With the
// parameter staged_twin the staged form is measured too: its points have the pair "staged", and a
// note names the size where the two cross. Notes name each knee of the curve over the sizes.
using MakeKernel = std::function<std::unique_ptr<Kernel>(const Params& params)>;
std::unique_ptr<Kernel> by_memory(MakeKernel direct, Verb verb, StagedFigure figure);

}  // namespace railgauge::verbs
