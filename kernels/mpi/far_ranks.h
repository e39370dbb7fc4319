// Selects the ranks whose own distributions are kept when there are too many ranks. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace railgauge::mpi {

// Returns at most `most` ranks, ascending: all, or the ones with medians farthest from the middle,
// half of them the longest and half the shortest. Both ends are informative: in a collective the
// rank that the others wait for has the shortest time. `by_rank_ns`: samples by rank; a rank
// without samples counts as 0 ns.
std::vector<std::uint32_t> far_ranks(const std::vector<std::vector<double>>& by_rank_ns,
                                     std::size_t most);

}  // namespace railgauge::mpi
