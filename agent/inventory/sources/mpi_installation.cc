// An MPI that the agent's setting names: its present version, and the UCX beside it.
#include <algorithm>

#include <fmt/format.h>

#include "agent/inventory/sources/sources.h"

namespace railgauge::agent {
namespace {

// Every folder of "/a/lib:/b/lib".
std::vector<std::string> folders_of(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    out.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// Returns the names of an MPI's pkg-config files; MVAPICH2 has its own beside MPICH's.
std::vector<std::string> files_of(const std::string& mpi) {
  if (mpi == "openmpi") return {"ompi"};
  return {"mvapich2", "mvapich", "mpich"};
}

// Reads the MPI's version, "4.1.7"; without a pkg-config file, the number of its library.
Fact<std::string> mpi_version(const NodeFiles& files, const MpiInstallation& one) {
  const auto folders = folders_of(one.library_folders);
  for (const std::string& name : files_of(one.mpi))
    for (const std::string& folder : folders) {
      Fact<std::string> version = pkgconfig_version(files, folder, name);
      if (!version.is_known()) continue;
      version.value = fmt::format("{} {}", name == "ompi" ? "openmpi" : name, version.value);
      return version;
    }
  const bool open = one.mpi == "openmpi";
  for (const std::string& folder : folders) {
    Fact<std::string> version =
        library_version(files, folder, open ? "libmpi.so.40" : "libmpi.so.12",
                        open ? "libmpi.so.40." : "libmpi.so.12.");
    if (!version.is_known()) continue;
    version.value = fmt::format("{} library {}.{}", one.mpi, open ? 40 : 12, version.value);
    return version;
  }
  if (!files.exists(one.prefix)) return Fact<std::string>::absent(one.prefix);
  return Fact<std::string>::unknown(
      one.prefix,
      fmt::format("{}: no file below lib or lib64 shows which {} this is", one.prefix, one.mpi));
}

}  // namespace

// Reads version and libraries of one Open MPI or MPICH installation.
Apply read_mpi_installation(const NodeFiles& files, const MpiInstallation& installation) {
  Fact<std::string> found = mpi_version(files, installation);
  for (const std::string& folder : folders_of(installation.library_folders)) {
    const Fact<std::string> ucx = pkgconfig_version(files, folder, "ucx");
    if (!found.is_known() || !ucx.is_known()) continue;
    found.value += ", ucx " + ucx.value;
    break;
  }
  return [name = installation.name, found](Inventory& inventory) {
    inventory.mpi_installations[name] = found;
  };
}

}  // namespace railgauge::agent
