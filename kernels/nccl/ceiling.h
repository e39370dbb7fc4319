// The physical ceiling of a collective: the bytes that one rank must move over its links and one
// host over its ports, whatever the algorithm.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/gpu/ceiling/ceiling.h"
#include "kernels/nccl/communicator/ports.h"
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

// Bytes that enter and leave a host in one call, at least.
struct HostBytes {
  double in = 0;
  double out = 0;
};
// Returns them for each host; `host_of` has each rank's host, numbered from 0. A host gets each
// content once that only others have; of a reduction, the others' part. Pure; its time grows with
// the contents, in an all-to-all with the square of the ranks.
std::vector<HostBytes> least_host_bytes(const Operation& operation, Share share,
                                        std::uint64_t element_bytes,
                                        std::span<const std::uint32_t> host_of);

// Returns the bound of algbw set by one direction of the hosts' ports, for the time of the slowest
// rank. Absent on one host, where the rates of the ports are unknown, where they moved less than
// `calls` calls must have, which something else then carried, and for more than 512 ranks, whose
// contents take too long to count. Absent too where the hosts have other ranks than the `share`:
// the groups of a split pass the ports together, and `share` knows one of them. Pure.
std::optional<gpu::Ceiling> port_ceiling(const Operation& operation, const Share& share,
                                         std::uint64_t element_bytes,
                                         std::span<const HostRate> hosts, std::uint64_t calls);

// Returns the lower one; absent where both are.
std::optional<gpu::Ceiling> lower_ceiling(std::optional<gpu::Ceiling> one,
                                          std::optional<gpu::Ceiling> other);

// Adds the ceiling and the share of it to an algbw, as facts; other figures stay as they are.
// kDataLoss when the algbw exceeds it.
Status check_links(const Operation& operation, const std::optional<gpu::Ceiling>& ceiling,
                   Point& point);

}  // namespace railgauge::nccl
