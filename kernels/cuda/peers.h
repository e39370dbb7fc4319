// Pairs of GPUs that reach each other's memory without the host.
#pragma once

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
// "gpu0>gpu1": the pair of a point.
std::string name_of(const GpuPair& pair);

// Every ordered pair where both GPUs have access to the other's memory; access is enabled. For each
// pair that lacks it a warning: the driver would stage its copies through the host, which must not
// pass as a peer copy. Facts: peer_pairs, pairs_without_access. kUnimplemented when there is none.
// The first GPU's context is current afterwards. In Kernel::prepare.
Result<std::vector<GpuPair>> enable_pairs(Context& context, std::span<const gpu::Gpu> gpus);

}  // namespace railgauge::cuda
