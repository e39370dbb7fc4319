// The rank that a launcher gave to this process, and the rendezvous of all ranks over MPI.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/group/group.h"
#include "kernels/mpi/binding/calls.h"

namespace railgauge::mpi {

// A process's place among the ranks, from the launcher's environment variables. Needs no
// initialised MPI.
struct LaunchedRank {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  // The number among the ranks of this node; equal to the rank when no launcher reports it.
  std::uint32_t local_rank = 0;
  // The binary interface of the launcher's MPI: "openmpi", "mpich"; "" when it starts either.
  std::string mpi{};
};

// Returns a variable's value; nullopt when it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
// Returns access to this process's variables, read with getenv on each call.
Environment process_environment();

// Returns this process's rank; absent when no launcher (Open MPI's, PMI's, PMIx's, MVAPICH's,
// Slurm's srun) started it.
std::optional<LaunchedRank> launched_rank(const Environment& environment);

// The rendezvous over MPI. MPI has no deadlines: for a lost rank the launcher ends all ranks, and
// the runner's watchdog ends a call that hangs.
class MpiGroup final : public Group {
 public:
  // `launched` supplies rank() before MPI is initialised, which the first exchange does.
  MpiGroup(Calls& calls, const LaunchedRank& launched) : calls_(calls), launched_(launched) {}
  [[nodiscard]] std::uint32_t rank() const override { return launched_.rank; }
  [[nodiscard]] std::uint32_t size() const override { return launched_.size; }
  // kInternal when MPI's rank count differs from the launcher's: the launcher of another MPI.
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override;

 private:
  // Must outlive the group.
  Calls& calls_;
  const LaunchedRank launched_;
};

}  // namespace railgauge::mpi
