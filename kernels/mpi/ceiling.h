// The physical ceiling of an MPI's messages: the ports that carried them between nodes, and the
// bytes that must pass those, whatever the algorithm.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gpu/ceiling/ceiling.h"
#include "kernels/mpi/operation.h"
#include "kernels/mpi/path/traffic.h"

namespace railgauge::mpi {

// Bytes that enter and leave a node in one sample, at least.
struct Crossing {
  double in = 0;
  double out = 0;
};
// Returns them for each node; `node_of` has each rank's node, numbered from 0. A node's ranks must
// get each content once that only other nodes have; of a sum, the others' part. Switches that copy
// or reduce do not lower it. Pure; its time grows with the ranks' contents, in an all-to-all with
// the square of the ranks.
std::vector<Crossing> crossings(const Operation& operation, Share share,
                                std::span<const std::uint32_t> node_of);

// A figure's ceiling, or the reason why there is none.
struct WireCeiling {
  // One direction of the busiest node's ports.
  std::optional<gpu::Ceiling> ceiling{};
  // Bytes per second that passed those ports, at least.
  double passed = 0;
  std::string none{};
};
// Judges from what was observed: `transport` as transport_of() says it, each rank's ports, and the
// time of one sample, in which all of it passed. Memory has no declared rate, and on one machine
// nothing has to pass a port. Pure, as crossings().
WireCeiling wire_ceiling(const Operation& operation, const Share& share, std::string_view transport,
                         std::span<const RankTraffic> ranks, double sample_ns);

}  // namespace railgauge::mpi
