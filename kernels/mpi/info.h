// What every MPI kernel declares.
#pragma once

#include "kernels/mpi/operation.h"

namespace railgauge::mpi {

inline constexpr std::uint64_t kMostWindow = 4096;

}  // namespace railgauge::mpi
