// The rank that a launcher gave to this process, and the rendezvous of all ranks over MPI itself.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/group/group.h"
#include "kernels/mpi/binding/calls.h"

namespace railgauge::mpi {

// A process's place among the ranks, as the launcher reports it in the environment. MPI need not be
// initialised.
struct LaunchedRank {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  // The number among the ranks of this node; the rank itself where no launcher reports it.
  std::uint32_t local_rank = 0;
};

// A variable's value; nullopt where it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
// The variables of this process, read with getenv on each call.
Environment process_environment();

// Nothing where no launcher (Open MPI's, PMI's, PMIx's, MVAPICH's, Slurm's srun) started this
// process.
std::optional<LaunchedRank> launched_rank(const Environment& environment);

// The rendezvous over MPI. MPI has no deadlines: a rank that is gone ends all by the launcher, and
// a call that hangs is ended by the runner's watchdog.
class MpiGroup final : public Group {
 public:
  // `launched`: what rank() says before MPI is initialised, which the first exchange does.
  MpiGroup(Calls& calls, const LaunchedRank& launched) : calls_(calls), launched_(launched) {}
  [[nodiscard]] std::uint32_t rank() const override { return launched_.rank; }
  [[nodiscard]] std::uint32_t size() const override { return launched_.size; }
  // kInternal where MPI counts the ranks otherwise than the launcher: one of another MPI.
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override;

 private:
  // Must outlive the group.
  Calls& calls_;
  const LaunchedRank launched_;
};

}  // namespace railgauge::mpi
