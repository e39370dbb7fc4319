// Which rank a launcher made of this process, as it says in the environment. Pure but for reading
// it; MPI need not be initialised.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace railgauge::mpi {

struct LaunchedRank {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;  // among those of this node; the rank where nobody says
};

// A variable's value; nullopt where it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

// Nothing where no launcher (Open MPI's, PMI's, PMIx's, MVAPICH's, Slurm's srun) started this
// process.
std::optional<LaunchedRank> launched_rank(const Environment& environment);

}  // namespace railgauge::mpi
