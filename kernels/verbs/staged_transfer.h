// Bandwidth and latency where a side's GPU memory is staged through the host's (staging.h).
#pragma once

#include <functional>
#include <memory>

#include "kernels/core/kernel.h"
#include "kernels/verbs/operation.h"

namespace railgauge::verbs {

enum class StagedFigure : std::uint8_t {
  kBandwidth,  // of messages that are in the target's memory
  kLatency,    // half a round trip from memory to memory
};

// A kernel that measures as `direct` does, and staged where the parameters of either side's memory
// say so.
using MakeKernel = std::function<std::unique_ptr<Kernel>()>;
std::unique_ptr<Kernel> by_memory(MakeKernel direct, Verb verb, StagedFigure figure);

}  // namespace railgauge::verbs
