// The parser of the setting mpi_installations.
#include "kernels/core/mpi_installations.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// Whether one of the folders, separated by colons, does not begin with "/". An empty one would be
// the working folder.
bool has_relative_folder(const std::string& folders) {
  return !std::ranges::all_of(split(folders, ':'),
                              [](std::string_view folder) { return folder.starts_with('/'); });
}

// One entry of the list; all members are empty where it has no "NAME=MPI:PREFIX".
MpiInstallation installation_in(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::size_t colon = text.find(':');
  if (equals == std::string::npos || colon == std::string::npos || equals > colon) return {};
  const std::size_t more = std::min(text.find(':', colon + 1), text.size());
  MpiInstallation found{text.substr(0, equals),
                        text.substr(equals + 1, colon - equals - 1),
                        text.substr(colon + 1, more - colon - 1),
                        {}};
  found.library_folders = fmt::format("{0}/lib:{0}/lib64{1}", found.prefix, text.substr(more));
  return found;
}

}  // namespace

// An empty list is valid: no installation is named.
Result<std::vector<MpiInstallation>> read_installations(const std::string& list) {
  std::vector<MpiInstallation> out;
  for (const std::string_view one : split_lines(list, ',')) {
    MpiInstallation found = installation_in(std::string(one));
    const bool known = found.mpi == "openmpi" || found.mpi == "mpich";
    // A name may be part of a fact's name and of a parameter's value. Each of them absolute: an
    // empty one would be the working folder.
    const bool folders = !found.prefix.empty() && !has_relative_folder(found.library_folders);
    if (found.name.empty() || !made_of(found.name, "._+-") || !known || !folders)
      return invalid(
          "mpi_installations: {} is no NAME=openmpi:/PREFIX or NAME=mpich:/PREFIX, with "
          "folders of more libraries behind it (:/FOLDER)",
          in_quotes(one));
    if (std::ranges::find(out, found.name, &MpiInstallation::name) != out.end())
      return invalid("mpi_installations: {} is named twice; rename one", found.name);
    out.push_back(std::move(found));
  }
  return out;
}

}  // namespace railgauge
