// Latency of communication that a GPU begins itself (NCCL's GIN), between any number of ranks. A
// put and a signal are timed as a token around all ranks, so that a figure is one hop: with two
// ranks half of a round trip. A get is timed on rank 0, from the other ranks in turn.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/core/kernel.h"

namespace railgauge::nccl {

inline constexpr double kGinSecond = 1e9;

// The three kernels. A put carries bytes and a signal; a signal alone shows the cost of the message
// itself; a get asks for bytes and needs no work of the other GPU.
enum class GinVerb : std::uint8_t { kPut, kSignal, kGet };

std::unique_ptr<Kernel> make_gin(GinVerb verb);

}  // namespace railgauge::nccl
