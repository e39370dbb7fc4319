// MPI installations that a site's setting names beside the detected ones: HPC-X, MVAPICH, or any
// other that a module would load.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// One MPI installation.
struct MpiInstallation {
  // The site's name for the installation.
  std::string name;
  // "openmpi" or "mpich": the interface of its library.
  std::string mpi;
  // Absolute folder above bin and lib.
  std::string prefix;
  // Folders of its libraries, separated by colons: "/opt/hpcx/ompi/lib:/opt/hpcx/ucx/lib".
  std::string library_folders;
};

// Parses the agent's setting mpi_installations: "hpcx=openmpi:/opt/hpcx/ompi,mv=mpich:/opt/mv".
// Folders of further libraries may follow the prefix:
// "hpcx=openmpi:/opt/hpcx/ompi:/opt/hpcx/ucx/lib". kInvalidArgument, with the fault, for a
// malformed list or a repeated name.
Result<std::vector<MpiInstallation>> read_installations(const std::string& list);

}  // namespace railgauge
