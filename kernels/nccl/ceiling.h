// The physical ceiling of a collective: the bytes that one rank must move over its links, whatever
// the algorithm.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/gpu/ceiling/ceiling.h"
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {

// Returns the share of S, the amount of algbw = S/t, that rank 0 must send or receive at least,
// whichever is more. Each rank's result, or its part of the others' results, has so much
// information that it lacks or the others lack: S of all_reduce, reduce, broadcast and send_recv;
// (n-1)/n of S where every rank, or the root, gives or gets a share of all others; 1/n where only
// another root does; unequal parts count as they are. Reduction inside of switches does not lower
// it. 0 of one rank. Pure.
double least_share(const Operation& operation, const Share& share);

// Returns the bound of algbw set by one direction of rank 0's links, from what its GPU has. Absent
// where the links are unknown, and for one rank. Pure.
std::optional<gpu::Ceiling> algbw_ceiling(const Operation& operation, const Share& share,
                                          const gpu::PeerParts& rank0);

// Adds the ceiling and the share of it to an algbw, as facts; other figures stay as they are.
// kDataLoss when the algbw exceeds it.
Status check_links(const Operation& operation, const std::optional<gpu::Ceiling>& ceiling,
                   Point& point);

}  // namespace railgauge::nccl
