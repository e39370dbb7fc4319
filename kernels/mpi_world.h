// The ranks that an MPI launcher started, for a program that may not include kernels/mpi itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kernels/core/group/group.h"

namespace railgauge {

struct MpiWorld {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
};

// The MPI that this program was built for ("openmpi", "mpich"), or "".
std::string mpi_of_program();
// Where this program has an MPI and its launcher, or one like it, started this process.
std::optional<MpiWorld> mpi_world();
// Its ranks; MPI is initialised by the first exchange.
std::unique_ptr<Group> join_mpi_world(const MpiWorld& world);
// MPI_Finalize, where it was initialised. With all ranks.
void leave_mpi_world();

}  // namespace railgauge
