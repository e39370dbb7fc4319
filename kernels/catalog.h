// THE list of kernels: the rows that `railgauge-runner --list` prints and that a task may name.
// Also the runner's access to the GPU, verbs and MPI layers, whose headers its own code may not
// include.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/probe.pb.h"
#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"
#include "kernels/core/kernel.h"

namespace railgauge {

// Returns every kernel of this build, sorted by name. The rows live as long as the process.
std::span<const KernelRow> catalog();

// Returns the row of `name` ("verbs.write_lat"), or nullptr.
const KernelRow* find_kernel(std::string_view name);

// --- GPUs ---

// Returns the number of GPUs that this process can use. Without a GPU the error waives, as that of
// a GPU kernel does.
Result<int> count_gpus();

// Keeps contexts and buffers from one GPU kernel to the next while the result lives. At most one at
// a time, on the thread that runs the kernels.
std::shared_ptr<void> keep_gpus_warm();

// Returns the driver that this build's GPU code needs: "driver 346.46 (CUDA 7.0) or later", or
// "none" and the reason.
std::string gpu_code_needs();

// --- probes of the agent's preflight ---

// Tries to register memory of a GPU with a NIC, unless the GPU is busy. `pair` is
// "gpu0@0000:18:00.0+mlx5_0"; another text gives the state "error".
GpuDirectProbe probe_gpudirect(std::string_view pair);

// Returns the attributes that libibverbs reports for a port, "mlx5_0:1".
PortProbe probe_port(std::string_view endpoint);

// --- the ranks that an MPI launcher started ---

// This process's rank in MPI_COMM_WORLD, and the number of ranks.
struct MpiWorld {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
};

// Returns the programs (the ends of their names: "openmpi", "mpich") of which one can be a rank of
// the launcher that started this process; empty when none did, or this rank is its only one.
std::vector<std::string> launcher_programs();
// Returns the MPI that this program was built for ("openmpi", "mpich"), or "".
std::string mpi_of_program();
// Returns this process's place if this program has an MPI and a launcher of that kind started the
// process; else absent.
std::optional<MpiWorld> mpi_world();
// Returns the group of the ranks. Its first exchange initialises MPI.
std::unique_ptr<Group> join_mpi_world(const MpiWorld& world);
// Calls MPI_Finalize if MPI was initialised. Collective: all ranks must call it.
void leave_mpi_world();

}  // namespace railgauge
