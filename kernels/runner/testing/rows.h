// Scripted kernels for the runner's own tests. Their figures are made up and marked so. The
// parameter `act` chooses a fault and its place.
#pragma once

#include <span>

#include "kernels/core/kernel.h"

namespace railgauge::testing_rows {

// test.latency (2 ranks), test.bandwidth (2 ranks), test.local (1 rank), sorted by name.
std::span<const KernelRow> rows();

// Some of the kernels that profiles use, under the same names. Parameter `act`: "waive",
// "kill_gpuN".
std::span<const KernelRow> peer_rows();

// Two of the collectives behind nccl-tests' names, for any number of ranks.
std::span<const KernelRow> nccl_rows();

}  // namespace railgauge::testing_rows
