// Which ranks' own distributions are worth keeping where there are too many for all. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railgauge::mpi {

// Numbers of at most `most` ranks, ascending: all, or those whose median time is farthest from the
// middle, half of them the longest and half the shortest. Both ends are informative: in a
// collective the rank that the others wait for has the shortest time of all. `by_rank_ns`: samples
// by rank; a rank without samples counts as 0 ns.
std::vector<std::uint32_t> far_ranks(const std::vector<std::vector<double>>& by_rank_ns,
                                     std::size_t most);

}  // namespace railgauge::mpi
