// The MPI kernels' parameters that become variables of the MPI (kernels/mpi/tunables.h): whoever
// starts the ranks has to know whether a task sets any.
#pragma once

#include <array>
#include <string_view>

namespace railgauge::mpi {

// All unset by default.
inline constexpr std::array<std::string_view, 9> kTunables{
    "layer",    "gpudirect",       "gpudirect_limit", "cuda_block", "rendezvous",
    "hca_list", "process_to_rail", "transports",      "offload"};

}  // namespace railgauge::mpi
