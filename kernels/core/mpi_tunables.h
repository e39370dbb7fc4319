// Parameters of the MPI kernels that become variables of the MPI library (kernels/mpi/tunables.h).
// The program that starts the ranks reads them too: the variables must be set before MPI_Init.
#pragma once

#include <array>
#include <string_view>

namespace railgauge::mpi {

// Names of parameters; all are unset by default.
inline constexpr std::array<std::string_view, 9> kTunables{
    "layer",    "gpudirect",       "gpudirect_limit", "cuda_block", "rendezvous",
    "hca_list", "process_to_rail", "transports",      "offload"};

}  // namespace railgauge::mpi
