// MPI installations that a site names beside those that are found: HPC-X, MVAPICH, or any that a
// module would load.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// One installation.
struct MpiInstallation {
  // The site's name for it.
  std::string name;
  // "openmpi" or "mpich": the interface that it has.
  std::string mpi;
  // Absolute folder above bin and lib.
  std::string prefix;
  // Folders of its libraries, separated by colons: "/opt/hpcx/ompi/lib:/opt/hpcx/ucx/lib".
  std::string library_folders;
};

// Parses the agent's setting mpi_installations: "hpcx=openmpi:/opt/hpcx/ompi,mv=mpich:/opt/mv";
// behind the prefix folders of further libraries, "hpcx=openmpi:/opt/hpcx/ompi:/opt/hpcx/ucx/lib".
// kInvalidArgument, with the fault, for a malformed list or a repeated name.
Result<std::vector<MpiInstallation>> read_installations(const std::string& list);

}  // namespace railgauge
