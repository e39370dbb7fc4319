// The division of a sum among the ranks: parts of whole elements, as equal as possible; the first
// ranks get one more.
#pragma once

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

// One rank's part of a sum.
struct Part {
  std::uint64_t first_float = 0;
  std::uint64_t bytes = 0;
};

// Returns the part of rank `share.rank`. `first_float` counts elements, `bytes` bytes.
inline Part part_of(const Share& share) {
  const std::uint64_t each = share.floats() / share.ranks;
  const std::uint64_t more = share.floats() % share.ranks;
  const std::uint64_t mine = each + (share.rank < more ? 1 : 0);
  return {.first_float = share.rank * each + std::min<std::uint64_t>(share.rank, more),
          .bytes = mine * sizeof(float)};
}

// Returns the elements of each rank's part in rank order: the `recvcounts` of MPI_Reduce_scatter.
inline std::vector<int> floats_of_ranks(Share share) {
  std::vector<int> all;
  for (share.rank = 0; share.rank < share.ranks; ++share.rank)
    all.push_back(static_cast<int>(part_of(share).bytes / sizeof(float)));
  return all;
}

}  // namespace railgauge::mpi
