// Pairs of GPUs that reach each other's memory without the host.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/gpu/device.h"

namespace railgauge::cuda {

// An ordered pair: data flows from `source` to `target`. Both belong to the session.
struct GpuPair {
  const gpu::Gpu* source;
  const gpu::Gpu* target;
};
// Returns the pair of a point: "gpu0>gpu1".
std::string name_of(const GpuPair& pair);

// Enables access and returns every ordered pair in which both GPUs reach the other's memory. Warns
// for each other pair: the driver would stage its copies through the host, which must not pass as a
// peer copy. Adds the facts peer_pairs and pairs_without_access. kUnimplemented without any pair.
// Leaves the first GPU's context current. For Kernel::prepare.
Result<std::vector<GpuPair>> enable_pairs(Context& context, std::span<const gpu::Gpu> gpus);

// Returns `count` of the pairs, drawn without repetition by `seed`, in their own order; all of them
// for 0 or for as many as there are. The same numbers draw the same pairs everywhere. Pure.
std::vector<GpuPair> drawn_pairs(std::vector<GpuPair> pairs, std::uint64_t count,
                                 std::uint64_t seed);

}  // namespace railgauge::cuda
