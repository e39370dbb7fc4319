// The two sides of kernels between pairs of ranks: rank r of the first half and rank r + n/2. With
// two ranks, rank 0 and rank 1.
#pragma once

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

// Whether the rank is of the first half, which begins.
inline bool is_first_half(const Share& share) { return share.rank < share.ranks / 2; }
// Returns the other rank of the pair.
inline std::uint32_t partner(const Share& share) {
  return is_first_half(share) ? share.rank + share.ranks / 2 : share.rank - share.ranks / 2;
}

}  // namespace railgauge::mpi
