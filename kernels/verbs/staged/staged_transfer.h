// Bandwidth and latency where a side's GPU memory is staged through the host's (staging.h).
#pragma once

#include <memory>

#include "kernels/core/kernel.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/link/operation.h"

namespace railgauge::verbs {

enum class StagedFigure : std::uint8_t {
  kBandwidth,  // of messages that are in the target's memory
  kLatency,    // half a round trip from memory to memory
};

enum class StagedPart : std::uint8_t {
  kAlone,
  kTwin,  // beside the direct transfer, whose parameters need not all fit
};

// `choice` stands for the parameters memory and target_memory; one of them is staged.
std::unique_ptr<Kernel> make_staged(Verb verb, StagedFigure figure, const MemoryChoice& choice,
                                    StagedPart part);

}  // namespace railgauge::verbs
