// THE list of kernels: the rows that `railgauge-runner --list` prints and that a task may name.
// Also the runner's view of the GPU, verbs and MPI layers, which its own code may not include.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/core/base/probe.pb.h"
#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"
#include "kernels/core/kernel.h"

namespace railgauge {

// Every kernel of this build, sorted by name. Lives as long as the process.
std::span<const KernelRow> catalog();

// The row of `name` ("verbs.write_lat"), or nullptr.
const KernelRow* find_kernel(std::string_view name);

// --- GPUs ---

// How many GPUs this process can use; waives as a GPU kernel would where there is none.
Result<int> count_gpus();

// While it lives, contexts and buffers stay from one GPU kernel to the next. At most one at a time,
// in the thread that runs the kernels.
std::shared_ptr<void> keep_gpus_warm();

// The driver that this build's GPU code needs: "driver 346.46 (CUDA 7.0) or later", or "none" and
// the reason.
std::string gpu_code_needs();

// --- probes of the agent's preflight ---

// "gpu0@0000:18:00.0+mlx5_0": whether that NIC registers memory of that GPU, where it is idle. The
// state "error" for a text that is no such pair.
GpuDirectProbe probe_gpudirect(std::string_view pair);

// "mlx5_0:1": the attributes that libibverbs reports of that port.
PortProbe probe_port(std::string_view endpoint);

// --- the ranks that an MPI launcher started ---

// The place of this process among the ranks that a launcher started: MPI_COMM_WORLD.
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
// MPI_Finalize, where MPI was initialised. A collective call: all ranks make it.
void leave_mpi_world();

}  // namespace railgauge
