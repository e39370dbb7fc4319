// Kernels for the runner's own tests, made by hand: they measure nothing and say so. Parameter
// `act` chooses what goes wrong, and where.
#pragma once

#include <span>

#include "kernels/core/kernel.h"

namespace railgauge::testing_rows {

// test.latency (2 ranks), test.bandwidth (2 ranks), test.local (1 rank), sorted by name.
std::span<const KernelRow> rows();

// Some of the kernels that profiles name, under those names. Parameter `act`: "waive", "kill_gpuN".
std::span<const KernelRow> peer_rows();

// Two of the collectives that nccl-tests' aliases name, for any number of ranks.
std::span<const KernelRow> nccl_rows();

}  // namespace railgauge::testing_rows
